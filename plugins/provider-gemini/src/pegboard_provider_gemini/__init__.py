"""Provider for Google's Gemini."""

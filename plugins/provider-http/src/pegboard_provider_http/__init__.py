"""What providers that speak HTTP share; each noun is a module, and importing this loads none."""

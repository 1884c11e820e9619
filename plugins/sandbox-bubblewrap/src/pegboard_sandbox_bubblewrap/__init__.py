"""The sandboxes of Linux: bubblewrap, and Landlock where user namespaces are refused."""

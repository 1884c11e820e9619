"""The sandbox whose commands run in containers of Docker or Podman."""

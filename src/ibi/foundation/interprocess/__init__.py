"""Messages between the processes of one service: sockets, frames, forwarded requests, metrics."""

"""What a training run leaves on disk, so that it goes on to the same bits."""

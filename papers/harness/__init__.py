"""What all tables share: where they are made, what they measure, and how they are printed."""

"""What the operator library says about each kernel that it launches: attributes, and files about shapes."""

"""`make fuzz`: artifacts changed at random, led by what they reach in the readers and the compiled core."""

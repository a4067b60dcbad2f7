"""Local gradient descent (Khaled, Mishchenko and Richtarik, 2019)."""

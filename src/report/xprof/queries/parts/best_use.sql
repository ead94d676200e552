-- How near the roof a relation with rates is.
greatest({uses})

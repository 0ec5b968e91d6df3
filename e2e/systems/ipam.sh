# Subnet IPAM needs no values and no options.
printed_shows+=('subnetclaim.plexaubnet.io/shop condition met')
tour_shows+=('subnetclaim.plexaubnet.io/shop condition met' 'host bits are set')

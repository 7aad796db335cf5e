RING_SIM_COMPLETE=fish ring-sim | source

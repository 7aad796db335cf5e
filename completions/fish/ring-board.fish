RING_BOARD_COMPLETE=fish ring-board | source

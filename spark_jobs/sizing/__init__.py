"""What a lake of a given size needs: arithmetic and a simulation of its files, from measured weights; pure Python."""

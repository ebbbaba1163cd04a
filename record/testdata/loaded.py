# Loads the MPI library while it runs: loaded.py LIBRARY [global]. Handles are the library's own: an int, or the address of an object.
import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL if len(sys.argv) > 2 else ctypes.RTLD_LOCAL)
try:
    world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
except ValueError:
    world = ctypes.c_int(0x44000000)
mpi.MPI_Init(None, None)
for _ in range(3):
    mpi.MPI_Barrier(world)
mpi.MPI_Finalize()
print("done")

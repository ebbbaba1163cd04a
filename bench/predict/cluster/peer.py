"""Clusters the vectors of a file with scipy's distances and fastcluster, and prints processor time and memory."""

import resource
import sys
import time

import fastcluster
import numpy
import scipy
from scipy.spatial.distance import pdist

path, entries, linkage = sys.argv[1], int(sys.argv[2]), sys.argv[3]
vectors = numpy.fromfile(path, dtype="<i8").reshape(-1, entries).astype(float)
start = time.process_time()
distances = pdist(vectors, "cityblock")
middle = time.process_time()
merges = fastcluster.linkage(distances, linkage, preserve_input=False)
end = time.process_time()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(
    f"{len(vectors)} x {entries}, {linkage}: scipy {scipy.__version__} distances {middle - start:.2f} s,"
    f" fastcluster {fastcluster.__version__} {end - middle:.2f} s; CPU {end - start:.2f} s; memory {peak} MB;"
    f" sum of heights {merges[:, 2].sum():.6f}"
)

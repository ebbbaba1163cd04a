# A recipe for Spack 1.0 and later. Add this repository of one package, then install:
#
#   spack repo add scripts/packaging/spack/spack_repo/coppice
#   spack install coppice ^openmpi       (or ^mpich, or coppice~mpi)
#
# Where Spack's own go is older than 1.26, install Go and say: spack external find go

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Coppice(Package):
    """Finds out where a parallel program lost its time: analyses OTF2 and Paraver traces of MPI programs,
    on as many MPI ranks as it is given."""

    homepage = "https://github.com/coppice-hpc/coppice"
    git = "https://github.com/coppice-hpc/coppice.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpi", default=True, description="Run on several nodes; without it, on the cores of one")

    depends_on("c", type="build", when="+mpi")
    depends_on("go@1.26:", type="build")
    depends_on("mpi", when="+mpi")

    def install(self, spec, prefix):
        install = Executable("scripts/install")
        if spec.satisfies("~mpi"):
            install("--mpi", "none", prefix)
        else:
            kind = "openmpi" if spec["mpi"].name == "openmpi" else "mpich"
            install("--mpi", kind, prefix, extra_env={"MPICC": spec["mpi"].mpicc})

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

    variant("mpi", default=True, description="Run on several nodes; without it, on the cores of one")

    depends_on("c", type="build", when="+mpi")
    depends_on("go@1.26:", type="build")
    depends_on("pkgconfig", type="build", when="+mpi")
    depends_on("mpi", when="+mpi")

    phases = ["build", "install"]

    def setup_build_environment(self, env):
        if self.spec.satisfies("~mpi"):
            env.set("CGO_ENABLED", "0")
            return
        # The module that wraps Open MPI looks in Debian's folders by itself; these come before them.
        env.set("CGO_CFLAGS", self.spec["mpi"].headers.include_flags)
        env.set("CGO_LDFLAGS", self.spec["mpi"].libs.ld_flags)

    def build(self, spec, prefix):
        args = ["build", "-trimpath", "-o", "bin/coppice"]
        if spec.satisfies("~mpi"):
            args += ["-tags", "nompi"]
        elif spec["mpi"].name != "openmpi":
            args += ["-tags", "mpich"]
        Executable("go")(*args, "./cmd/coppice")

    def install(self, spec, prefix):
        mkdirp(prefix.bin)
        install("bin/coppice", prefix.bin)
        install_tree("record/include", prefix.include)
        install_tree("docs", join_path(prefix.share, "doc", "coppice"))
        coppice = Executable(join_path(prefix.bin, "coppice"))
        coppice("manual", join_path(prefix.share, "man", "man1"))
        completions = join_path(prefix.share, "bash-completion", "completions")
        mkdirp(completions)
        with open(join_path(completions, "coppice"), "w") as f:
            f.write(coppice("completion", "bash", output=str))

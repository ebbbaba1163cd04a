# Read by the scripts next to it: where the repository is, which Go, and how MPI starts.

set -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

# A Go that was unpacked to its usual place need not be on the PATH.
if ! command -v go >/dev/null && [ -x /usr/local/go/bin/go ]; then
	PATH=$PATH:/usr/local/go/bin
fi

# Open MPI does not start as root unless told to twice.
if [ "$(id -u)" -eq 0 ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# Builds are the same wherever the clone is, so that clones share what is built.
export GOFLAGS="-trimpath ${GOFLAGS:-}"

# The go command stops where git refuses to speak about the folder, as in a copy that belongs to somebody else.
if command -v git >/dev/null && ! git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	export GOFLAGS="$GOFLAGS -buildvcs=false"
fi

has() { command -v "$1" >/dev/null; }

die() {
	echo "$*" >&2
	exit 1
}

build() { go build -o bin/coppice ./cmd/coppice; }

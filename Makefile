# Names that people expect, for the commands that do the work: everything is in scripts/test and bench/run.
GO ?= go
PREFIX ?= /usr/local
TOOL = $(GO) tool -modfile=scripts/tools/go.mod

.PHONY: all build quick test bench format staticcheck lint lines demo install release clean
all: build

build:
	$(GO) build -o bin/coppice ./cmd/coppice

# a whole check of a few minutes
quick:
	./scripts/test quick

# everything that must pass before a change goes in
test:
	./scripts/test

bench:
	bench/run

format:
	$(TOOL) gofumpt -l -w .

staticcheck:
	$(TOOL) staticcheck ./...
	cd bench && $(GO) tool -modfile=../scripts/tools/go.mod staticcheck ./...

# needs golangci-lint, which is not among our tools
lint:
	golangci-lint run ./...
	cd bench && golangci-lint run ./...

lines:
	@scripts/lines

demo:
	./scripts/demo

install:
	scripts/install $(PREFIX)

# the archives of a release
release:
	scripts/release

clean:
	rm -rf bin

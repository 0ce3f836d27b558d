# SPDX-License-Identifier: Apache-2.0
# `make` alone says what there is.

SHELL := /bin/bash -o pipefail
SHOOT ?=
EXIT ?=
BENCH ?=
# What a test waits for without saying how long: a second, Gomega's own limit, is too
# short on a busy machine.
export GOMEGA_DEFAULT_EVENTUALLY_TIMEOUT ?= 30s
# One set of flags and one version of Kubernetes, see hack/check-modules.sh: everything
# compiles once.
export CGO_ENABLED ?= 0
# Most tests wait for clusters most of the time, those of test/e2e longest: they begin.
WAITING := -timeout 20m -parallel 4
# What make test-long has: tests that wait for Kubernetes' garbage collector, or for
# processes that die, one with a dozen clusters, one with the probes of 1,000 nodes, and whole packages that disturb the
# operator.
LONG := ^(TestTheShootsOfTheDocumentsRunOnASeedWithTheChartsAlone|TestAnotherReplicaCarriesOn|TestKillingTheOperatorChangesNothing|TestWhatConnectivityCostsGrowsLinearlyAtMost)$$
CONNECTIVITY := ./internal/controller/networkstatus/connectivity
LONG_PACKAGES := ./test/robustness ./test/fairness
# What make e2e has: packages that need root and send packets.
E2E_PACKAGES := ./test/flannel ./test/realnodes
# What make images and make charts make, and how the images are named.
IMAGE_PROGRAMS := trellis-operator trellis-admission trellis-probe trellis
ARCHITECTURES ?= amd64,arm64
IMAGES ?= bin/images
CHARTS ?= bin/charts
REGISTRY ?= ghcr.io/trellis-network
TAG ?= v0.1.0
# The packages whose tests state with contract.Shows what they show.
STATING := go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | grep 'trellis/test/contract[] ]' | cut -d ' ' -f 1
# The generated parts of the tree.
GENERATED := api config docs pipeline plugins

.PHONY: help demo test test-long e2e e2e-guides e2e-transitions realcalico realcilium robustness race contract lint generate build images charts sandbox real-nodes deps fmt bench

help: ## List the targets
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 20

demo: sandbox build ## Apply a Shoot and wait until its network is healthy; as root also one with real nodes; EXIT=1 ends then, SHOOT=FILE applies this Shoot only
	@missing="$(SHOOT)$$(go run ./test/sandbox/build -missing demo)" || exit; [ -n "$$missing" ] || $(MAKE) -s real-nodes >/dev/null
	bin/demo $(if $(SHOOT),--shoot "$(SHOOT)") --operator bin/trellis-operator --trellis bin/trellis $(if $(filter-out 0 false,$(EXIT)),--exit)

test: sandbox ## All tests but long ones
	@go run ./hack/compile -tests ./...
	@go build -o bin/ ./hack/gotest
	exec bin/gotest $(WAITING) -skip '$(LONG)' ./test/e2e $$(go list ./... | grep -vE '/($(subst $() ,|,$(patsubst ./%,%,$(LONG_PACKAGES) $(E2E_PACKAGES))))$$')
	cd sandbox && go test -timeout 20m ./...
	cd agents && go test -timeout 20m ./...
	cd examples/gardenet && go test -timeout 20m ./...

test-long: sandbox ## Tests that take long: two replicas, kills, the documents' Shoots on an installed seed, shoots that do not answer, what the connectivity of many nodes costs, a selection of make robustness
	@go run ./hack/compile -tests $(LONG_PACKAGES) ./test/e2e ./test/docs $(CONNECTIVITY)
	go test $(WAITING) -run '$(LONG)' ./test/e2e ./test/docs $(CONNECTIVITY)
	go test $(WAITING) $(LONG_PACKAGES)

e2e: sandbox ## flannel's packets, and Trellis on real nodes: what breaks there, and when the status knows; as root, see make deps
	@missing=$$(go run ./test/sandbox/build -missing $@) || exit; [ -z "$$missing" ] || { echo "make e2e cannot run: $$missing"; exit 1; }
	@$(MAKE) -s real-nodes >/dev/null
	@set -x; go test -timeout 30m ./test/flannel & \
	set -x; go test -v -timeout 50m -parallel 10 ./test/realnodes -realnodes; nodes=$$?; \
	wait $$! && exit $$nodes

e2e-guides: sandbox ## What the guides let run on real nodes: the charts' pods, a third party's network, and a change of the type; as root
	@missing=$$(go run ./test/sandbox/build -missing e2e) || exit; [ -z "$$missing" ] || { echo "make $@ cannot run: $$missing"; exit 1; }
	@$(MAKE) -s real-nodes >/dev/null
	@set -x; go test -v -run TestThePodsOfTheChartsRunOnARealNode ./test/docs -realnodes & \
	set -x; (cd examples/gardenet && go test -v -timeout 30m -run 'TestPodsTalkOnRealNodes|TestTypesChangeOnRealNodes/two-subnets' . -realnodes); gardenet=$$?; \
	wait $$! && exit $$gardenet

e2e-transitions: sandbox ## Changes of a network in steps on real nodes: what is lost beside a change at once, a wrong route, and the way back; another type, in one subnet, and with VXLAN before and after; as root
	@missing=$$(go run ./test/sandbox/build -missing e2e) || exit; [ -z "$$missing" ] || { echo "make $@ cannot run: $$missing"; exit 1; }
	@$(MAKE) -s real-nodes >/dev/null
	go test -v -timeout 40m -parallel 10 -run ChangeInSteps ./test/realnodes -realnodes -transitions
	cd examples/gardenet && go test -v -timeout 60m -run 'TestTypesChangeOnRealNodes/one-subnet|TestNetworksEncapsulateBeforeAndAfterAChangeOfTheType' . -realnodes

realcalico: ## Networks of type calico with Calico's own agents on real nodes, as root; CALICO_SRC and BIRD_SRC are checkouts of their sources, see docs/real-agents.md
	@go run ./test/realagents/calico -check
	@$(MAKE) --no-print-directory sandbox real-nodes
	@agents=$$(go run ./test/realagents/calico) && set -x && CALICO_SRC='$(abspath $(CALICO_SRC))' go test -v -timeout 90m ./test/realagents -calico "$$agents" $(if $(RUN),-run '$(RUN)')

realcilium: ## Networks of type cilium with Cilium's own agents on real nodes, as root; with CALICO_SRC and BIRD_SRC the type also changes from Calico, see docs/real-agents.md
	@go run ./test/realagents/cilium -check
	@$(if $(CALICO_SRC),go run ./test/realagents/calico -check)
	@$(MAKE) --no-print-directory sandbox real-nodes
	@agents=$$(go run ./test/realagents/cilium) && calico=$(if $(CALICO_SRC),$$(go run ./test/realagents/calico)) && set -x && go test -v -timeout 90m ./test/realagents -cilium "$$agents" -calico "$$calico" -run '$(if $(RUN),$(RUN),Cilium)'

robustness: sandbox ## Kill and disturb the operator, check that the tests find planted bugs and missing protections, let one shoot of fifty be hostile, and two hundred come and go; 30 minutes
	go test -timeout 60m ./test/robustness -robustness.all
	go test -timeout 40m -v -run 'TestAHostileShoot|TestThreeHostileShoots|TestTwoHundredClusters' ./test/fairness -fairness.all
	go test -run 'TestKilledAtAnyWriteOfATransition|TestASpecThatIsTurnedBack|TestANodeIsLostAtEachStep|TestAControlPlaneMovesAtAStep|TestANetworkReliesOnRoutes|TestATypeChanges' ./internal/controller/network

bench: sandbox ## Trellis beside Helm and beside a raw client of API servers, what verdicts about connectivity cost, and shoots beside others that do not answer
	go test -run '^$$' -bench . -benchtime 3s ./test/bench
	go test -run '^$$' -bench . $(CONNECTIVITY)
	go test -v -run CostsGrowsLinearlyAtMost $(CONNECTIVITY)
	go test -run '^$$' -bench . -benchtime 1x ./test/fairness
	go test -run '^$$' -bench . -benchtime 1x -timeout 90m ./test/costs $(BENCH)

race: sandbox ## The controllers, the operator, its contract and the plugins with the race detector, which needs a C compiler
	CGO_ENABLED=1 go test -race -run ManyAtATime ./plugins ./plugin/...
	cd examples/gardenet && CGO_ENABLED=1 go test -race -run ManyAtATime ./...
	CGO_ENABLED=1 go test -race -timeout 40m -p 1 ./internal/... ./operator/... ./test/contract ./test/e2e

contract: sandbox ## The tests that show docs/gardener-contract.md, beside its table of them; UPDATE=1 writes the table
	go test -json $(WAITING) $$($(STATING)) | go run ./hack/contract $(if $(filter-out 0 false,$(UPDATE)),-write)

lint: sandbox ## gofmt, vet, staticcheck, whether make generate would change anything, and whether the planted bugs still apply
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not formatted; run make fmt:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@go run ./hack/compile -tests ./...
	go vet ./...
	go build -o bin/ honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./...
	cd sandbox && go vet ./...
	cd sandbox && ../bin/staticcheck ./...
	cd agents && go vet ./...
	cd agents && ../bin/staticcheck ./...
	cd examples/gardenet && go vet ./... && ../../bin/staticcheck ./...
	hack/check-generated.sh $(GENERATED)
	hack/check-modules.sh
	hack/check-core.sh
	hack/check-planted.sh
	hack/check-pure.sh plugins plugin/manifest plugin/system pipeline

generate: ## Deep copies, CRDs, rights, JSON schemas and the reference parts of the documents from the Go types
	go tool controller-gen object:headerFile=hack/boilerplate.go.txt paths="./api/...;./plugins/..."
	go tool controller-gen crd paths="./api/core/...;./api/extensions/...;./api/resources/..." output:crd:dir=config/crd
	go tool controller-gen crd paths=./api/connectivity/... output:crd:dir=pipeline/probe/manifests
	go run ./hack/rbac ./admission/... ./internal/... ./operator/... ./providers/...
	go run ./hack/schema ./plugins/...
	go run ./hack/docs

build: ## The programs, into bin/
	@go run ./hack/compile -o bin/ ./cmd/... ./test/demo

images: ## The programs as images for amd64 and arm64, in archives in bin/images, with lists of their modules; REGISTRY=… TAG=… name them
	go run ./hack/images -o '$(IMAGES)' -registry '$(REGISTRY)' -tag '$(TAG)' -arch '$(ARCHITECTURES)' $(IMAGE_PROGRAMS)

charts: ## Helm charts of the operator and the admission in bin/charts, and what registers them with Gardener; REGISTRY=… TAG=… name the images
	go run ./hack/charts -o '$(CHARTS)' -registry '$(REGISTRY)' -tag '$(TAG)'

sandbox: ## The embedded Kubernetes, built once and cached outside the tree
	@echo "sandbox: compiling what builds it (seconds, a minute on a fresh machine)"
	@go run ./test/sandbox/build >/dev/null

real-nodes: ## What real nodes run, built once and cached outside the tree; prints the directory
	@go run ./test/sandbox/build -real-nodes

deps: ## Install the tools that real nodes run, and the browser of a test, as root on Debian
	apt-get update
	apt-get install -y --no-install-recommends $$(cat sandbox/components/debian-packages) chromium

fmt: ## Format the Go code
	gofmt -w $$(git ls-files '*.go')

# Every target sets up what it needs by itself: .venv for drynpu, .venv-mindspore for what MindSpore needs,
# .venv-consumers for the tools that open its output, .venv-packages for public packages that run on the NPU, .venv-docs for the
# site.
# PYTHON chooses another interpreter:  make test PYTHON=python3.12  has environments of its own beside these, .venv-python3.12
# and .venv-mindspore-python3.12. Frameworks without a wheel for it are left out, and a line says so.

# A python3.11 that only is a launcher for a version that is not there does not count, so it has to run.
DEFAULT_PYTHON := $(shell for p in python3.11 python3; do $$p -c '' >/dev/null 2>&1 && { echo $$p; break; }; done)
PYTHON ?= $(DEFAULT_PYTHON)
SUFFIX := $(if $(filter-out $(DEFAULT_PYTHON),$(PYTHON)),-$(notdir $(PYTHON)))

VENV := .venv$(SUFFIX)
CONSUMERS := .venv-consumers
MINDSPORE := .venv-mindspore$(SUFFIX)
PACKAGES := .venv-packages
MINDSPORE_PACKAGES := .venv-mindspore-packages
TRAINERS := .venv-trainers
ENGINE := .venv-engine
FUZZ := .venv-fuzz
COVERAGE := .venv-coverage
DOCS := .venv-docs
BIN := $(VENV)/bin
STAMP := $(VENV)/.drynpu-installed
# What `make demo` needs: a part of what the tests need, in the same environment. An environment for the tests serves as it is.
DEMO_STAMP := $(firstword $(wildcard $(STAMP)) $(VENV)/.drynpu-demo-installed)
CONSUMERS_STAMP := $(CONSUMERS)/.drynpu-installed
MINDSPORE_STAMP := $(MINDSPORE)/.drynpu-installed
PACKAGES_STAMP := $(PACKAGES)/.drynpu-installed
MINDSPORE_PACKAGES_STAMP := $(MINDSPORE_PACKAGES)/.drynpu-installed
TRAINERS_STAMP := $(TRAINERS)/.drynpu-installed
ENGINE_STAMP := $(ENGINE)/.drynpu-installed
DOCS_STAMP := $(DOCS)/.drynpu-installed
FUZZ_STAMP := $(FUZZ)/.drynpu-installed
COVERAGE_STAMP := $(COVERAGE)/.drynpu-installed
# The pins are those of the usual Python; another one gets the newest releases that it has.
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check $(if $(SUFFIX),,-c constraints.txt)
# What torch would otherwise print about oneDNN, its tracer and its allocator. And compiled modules are kept, whatever this
# machine says: most tests start scripts, each of which would compile several hundred modules again.
QUIET := PYTHONDONTWRITEBYTECODE= TF_ENABLE_ONEDNN_OPTS=0 KINETO_LOG_LEVEL=99 TORCH_CPP_LOG_LEVEL=ERROR
PYTEST := $(QUIET) DRYNPU_CONSUMERS_VENV="$(CURDIR)/$(CONSUMERS)" $(BIN)/python -m pytest -q

.DEFAULT_GOAL := help
.PHONY: help venv native demo docs pictures mutants torture fuzz soak coverage stubs test-wheels test-fresh monotonicity calibration sanitize test test-rest test-all venv-mindspore venv-consumers chromium cross-compiler test-packages test-engine test-mindspore-packages test-mindspore-release test-torch test-headers test-tf test-upstream check check-types check-house compare-vendor bench bench-compare clean distclean

help:
	@echo "make demo     train the small GPT of examples/torch, profiled; leaves ./demo_out"
	@echo "make native   compile the npu device of PyTorch; half a minute, once (make demo and make test do it)"
	@echo "make test     the quick tests, of every room and every framework (at most 8 minutes on two processors; set-up apart)"
	@echo "make test PATHS='core/drynpu/raw adapters/tf'    every test of what stands there"
	@echo "make test PYTHON=python3.12    the same with another Python, in environments of its own"
	@echo "make test-all all tests (half an hour on two processors); make test-rest: what make test leaves out"
	@echo "make check    lint, format, types, import direction"
	@echo "make docs     build the pages as a site, in build/site; warnings are errors"
	@echo "make pictures take the pictures of the pages that README and docs show"
	@echo "make test-upstream TORCH_NPU=DIR    the vendor's own tests of the npu, from a checkout, on ours; prints docs/upstream-tests.md (half an hour)"
	@echo "make bench    the scripts in benchmarks/; their ratios go to build/bench.json (an hour; ONLY=profiler for one)"
	@echo "make bench-compare BASE=main    the speed of this checkout beside that of a revision; fails if it is slower (5 minutes)"
	@echo "make compare-vendor MSPROF=DIR TORCH_NPU=DIR    compare our files with those of the vendor's parsers, from checkouts"
	@echo "make mutants  change facts and sampled logic one at a time, and print what no test notices (an hour)"
	@echo "make torture  kill and starve profiled runs at their file calls, and count what is lost (hours; CALLS=60 TIMES=20)"
	@echo "make fuzz     properties and damage with many examples (EXAMPLES=500), then every parser by atheris (INPUTS=1000000)"
	@echo "make soak     100 000 steps of training on shapes alone: memory and descriptors stay flat (a quarter of an hour)"
	@echo "make coverage lines that the tests of each room reach, against their floors (an hour; TESTS=tests/core/raw)"
	@echo "make test-wheels     the wheel and the sdist in fresh environments: each Python that is here, each extra (downloads of GB)"
	@echo "make test-fresh      the five tasks of README in a fresh clone with an environment of its own (minutes; 0.3 GB)"
	@echo "make stubs    compare the types of the facades with what they are at run time (minutes)"
	@echo "make sanitize the npu device under sanitizers for threads and for memory (five minutes; needs g++)"
	@echo "make monotonicity    100 000 random kernels on every chip: more is never faster, no rate beats its limit"
	@echo "make calibration DATA=DIR    fit the cost model to measured kernels and print its errors (ten minutes)"
	@echo "make test-packages   transformers, accelerate, peft, trl, LLaMA-Factory, ms-swift, verl and others on the NPU (an install of 5 GB)"
	@echo "make test-engine VLLM_ASCEND=DIR    vLLM with vLLM-Ascend, from a checkout, and verl's trainer on the NPU (an install of 1.2 GB, then 25 minutes)"
	@echo "make test-mindspore-packages   MindCV and MindFormers on the NPU (an install of 1.5 GB, then half an hour)"
	@echo "make test-mindspore-release MINDSPORE_RELEASE=2.10.0    the examples and the surface in another release (an install of 3 GB that is removed)"
	@echo "make test-torch TORCH=2.10.0    another release of PyTorch: build, train, profile; prints its row of docs/install.md (3 GB)"
	@echo "make test-headers    the device against the headers of every release, and the private names that we use (minutes; 1 GB)"
	@echo "make test-tf TF=2.21.0 PYTHON=python3.13    npu_device in another release of TensorFlow (an install of 1 GB that is removed)"
	@echo "make clean    remove what was built and cached; keeps environments and profiles"
	@echo "make distclean    remove the environments as well"

venv: $(STAMP)

# $(1): folder of the new environment
define new_venv
	@test -n "$(PYTHON)" || { echo "make: no python3 found; install Python 3.10 or newer, or say make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("make: drynpu needs Python 3.10 or newer, but $(PYTHON) is " + sys.version.split()[0] + "; say make PYTHON=python3.11")'
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1) || { rm -rf $(1); echo "make: $(PYTHON) -m venv failed; on Debian install python3-venv" >&2; exit 1; }
endef

DEMO_PARTS := -e '.[torch,dashboard]'

# $(1): arguments of python that install. Pip draws its progress on a terminal; elsewhere there is one line for each file that it fetches.
define install_shown
@if [ -t 1 ]; then $(BIN)/python $(1); else \
	{ $(BIN)/python $(1) || touch $(VENV)/.failed; } | sed -un 's/^ *\(Downloading\|Using cached\) /  \1 /p'; \
	! rm $(VENV)/.failed 2> /dev/null; fi
endef

$(VENV)/.drynpu-demo-installed: pyproject.toml constraints.txt
	$(call new_venv,$(VENV))
	@echo "Setting up $(VENV) for PyTorch and the dashboard (once; a download of 0.3 GB; \`make test\` adds the rest)"
	@$(BIN)/python $(PIP_INSTALL) hatchling
	$(call install_shown,$(PIP_INSTALL:--quiet=) --no-build-isolation $(DEMO_PARTS))
	@touch $@

# After the demo's part, where both are asked for at once: two installations into one folder disturb each other.
$(STAMP): pyproject.toml constraints.txt | $(if $(filter demo native,$(MAKECMDGOALS)),$(filter-out $(STAMP),$(DEMO_STAMP)))
	$(call new_venv,$(VENV))
	@echo "Setting up $(VENV) for the tests (once; a few minutes)"
	@$(BIN)/python $(PIP_INSTALL) hatchling
	@$(BIN)/python $(PIP_INSTALL) --no-build-isolation -e '.[torch,tf,onnx,media,dashboard,test]'
	@touch $@

# The npu of PyTorch in C++, in the user's cache. Without a compiler there is none: the sink serves and the summary says so,
# and the tests of the native device say that they were skipped.
native: $(DEMO_STAMP)
	@$(BIN)/drynpu native build || true

$(MINDSPORE_STAMP): pyproject.toml constraints.txt
	$(call new_venv,$(MINDSPORE))
	@echo "Setting up $(MINDSPORE) (once; MindSpore is a download of 0.8 GB)"
	@$(MINDSPORE)/bin/python $(PIP_INSTALL) hatchling
	@$(MINDSPORE)/bin/python $(PIP_INSTALL) --no-build-isolation -e '.[mindspore,test]'
	@touch $@

$(CONSUMERS_STAMP): constraints.txt
	$(call new_venv,$(CONSUMERS))
	@echo "Setting up $(CONSUMERS) (once)"
	@$(CONSUMERS)/bin/python $(PIP_INSTALL) msprof-analyze
	@touch $@

# DeepSpeed looks for PyTorch while it is built. timm and torchtune need what does not go together with the others:
# torchvision, which is compiled for CUDA, and an older torchao. So timm and that torchao lie in folders of their own.
PACKAGE_NAMES := accelerate datasets diffusers lightning mmengine peft sentence-transformers torchtitan transformers trl
PACKAGES_INSTALL := $(PACKAGES)/bin/python -m pip install --quiet --disable-pip-version-check
$(PACKAGES_STAMP): pyproject.toml constraints-packages.txt
	$(call new_venv,$(PACKAGES))
	@echo "Setting up $(PACKAGES) (once; a download of 1 GB)"
	@$(PACKAGES_INSTALL) -c constraints-packages.txt torch hatchling setuptools wheel ninja
	@$(PACKAGES_INSTALL) -c constraints-packages.txt --no-build-isolation -e .
	@DS_BUILD_OPS=0 $(PACKAGES_INSTALL) -c constraints-packages.txt --no-build-isolation $(PACKAGE_NAMES) deepspeed
	@$(PACKAGES_INSTALL) -c constraints-packages.txt --no-deps torchtune torchdata triton
	@$(PACKAGES_INSTALL) -c constraints-packages.txt blobfile sentencepiece tiktoken omegaconf pybind11 pytest pytest-timeout six
	@$(PACKAGES_INSTALL) -c constraints-packages.txt --no-deps --target $(PACKAGES)/timm timm torchvision==0.28.0
	@$(PACKAGES_INSTALL) --no-deps --target $(PACKAGES)/torchao torchao==0.13.0
	@touch $@

# LLaMA-Factory, ms-swift and verl want other releases than the packages above. torchaudio is compiled for CUDA, and without its
# libraries it can be imported, which is all that LLaMA-Factory does.
TRAINERS_INSTALL := $(TRAINERS)/bin/python -m pip install --quiet --disable-pip-version-check
$(TRAINERS_STAMP): pyproject.toml constraints-trainers.txt
	$(call new_venv,$(TRAINERS))
	@echo "Setting up $(TRAINERS) (once; a download of 1 GB)"
	@$(TRAINERS_INSTALL) -c constraints-trainers.txt torch setuptools wheel hatchling
	@$(TRAINERS_INSTALL) --no-deps -r constraints-trainers.txt
	@rm -f $(TRAINERS)/lib/python*/site-packages/torchaudio/lib/*.so
	@$(TRAINERS_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# vLLM without a device of its own. Every package is pinned and installed without asking what it needs: vLLM-Ascend pins another
# torch. torchvision is compiled for CUDA; vLLM uses none of its operators, but their shapes would be registered.
ENGINE_INSTALL := $(ENGINE)/bin/python -m pip install --quiet --disable-pip-version-check
$(ENGINE_STAMP): pyproject.toml constraints-engine.txt
	@test -f "$(VLLM_ASCEND)/setup.py" || { echo "make: say where the checkout is: make test-engine VLLM_ASCEND=DIR (docs/howto/serve.md)" >&2; exit 1; }
	$(call new_venv,$(ENGINE))
	@echo "Setting up $(ENGINE) (once; a download of 1 GB)"
	@$(ENGINE_INSTALL) -c constraints-engine.txt torch "setuptools<81" wheel
	@$(ENGINE_INSTALL) --no-deps -r constraints-engine.txt
	@: > $$($(ENGINE)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torchvision/_meta_registrations.py
	@VLLM_TARGET_DEVICE=empty VLLM_VERSION_OVERRIDE=0.27.1 $(ENGINE_INSTALL) --no-deps --no-build-isolation --no-binary vllm vllm==0.27.1
	@COMPILE_CUSTOM_KERNELS=0 SOC_VERSION=ascend910b1 $(ENGINE_INSTALL) --no-deps --no-build-isolation -e "$(VLLM_ASCEND)"
	@$(ENGINE_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# MindFormers asks for an older PyArrow and for packages that its models do not need, so what they need is named here.
$(MINDSPORE_PACKAGES_STAMP): pyproject.toml constraints-mindspore-packages.txt
	$(call new_venv,$(MINDSPORE_PACKAGES))
	@echo "Setting up $(MINDSPORE_PACKAGES) (once; a download of 1.2 GB)"
	@$(MINDSPORE_PACKAGES)/bin/python $(PIP_INSTALL) hatchling
	@$(MINDSPORE_PACKAGES)/bin/python $(PIP_INSTALL) --no-build-isolation -e '.[mindspore]'
	@$(MINDSPORE_PACKAGES)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-mindspore-packages.txt \
		numpy sentencepiece ftfy regex tqdm jieba rouge_chinese nltk opencv-python-headless tokenizers astunparse tiktoken jinja2 \
		setproctitle safetensors tensorboardX deprecated pybind11 transformers pyarrow datasets click pyyaml pillow scipy
	@$(MINDSPORE_PACKAGES)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-mindspore-packages.txt \
		--no-deps mindcv mindformers mindpet
	@touch $@

demo: $(DEMO_STAMP) native
	@RANK=0 $(QUIET) $(BIN)/drynpu run examples/torch/train_gpt.py
	@echo
	@$(BIN)/drynpu report demo_out -o demo_out/report.html --force
	@echo "Next:"
	@echo "  $(BIN)/drynpu advise demo_out       what costs time, and what to do about it"
	@echo "  $(BIN)/drynpu dashboard demo_out    the same pages and the timeline, in a browser, while runs come in"

# Each framework in a process of its own: tools/run_tests.py says how. PATHS are folders or files of the repository.
# When make began: what it does before the tools starts is set-up, too.
BEGIN := $(shell date +%s)
RUN_TESTS = $(QUIET) DRYNPU_CONSUMERS_VENV="$(CURDIR)/$(CONSUMERS)" $(BIN)/python tools/run_tests.py --since $(BEGIN) --suffix='$(SUFFIX)'

test: $(STAMP)
	@$(RUN_TESTS) --part quick $(PATHS)

test-rest: $(STAMP)
	@$(RUN_TESTS) --part rest

test-all: $(STAMP)
	@$(RUN_TESTS) --part all

# What folders of tests need (process.yaml) beside the environment.
venv-mindspore: $(MINDSPORE_STAMP)
	@:

venv-consumers: $(CONSUMERS_STAMP)
	@:

# A browser looks at pages. Where there is none it is installed as Debian's chromium, if this user may do that; otherwise
# the tests say loudly that they were skipped.
chromium:
	@command -v chromium > /dev/null || { apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core; } > /dev/null 2>&1 || true

# What compiles for the hosts of Ascend machines, likewise.
cross-compiler:
	@command -v aarch64-linux-gnu-g++ > /dev/null || { apt-get -qq update && apt-get -qq install -y --no-install-recommends g++-aarch64-linux-gnu; } > /dev/null 2>&1 || true

# Packages that come as repositories are checkouts that the caller names; without them their tests say that they were skipped.
test-packages: export MEGATRON := $(MEGATRON)
test-packages: export MINDSPEED := $(MINDSPEED)
test-packages: export MINDSPEED_LLM := $(MINDSPEED_LLM)
test-packages: export VLLM := $(VLLM)
test-packages: export VLLM_ASCEND := $(VLLM_ASCEND)
test-packages: $(STAMP) $(PACKAGES_STAMP) $(TRAINERS_STAMP)
	DRYNPU_PACKAGES_VENV="$(CURDIR)/$(PACKAGES)" DRYNPU_TRAINERS_VENV="$(CURDIR)/$(TRAINERS)" $(PYTEST) -rs tests/packages --ignore tests/packages/mindspore --ignore tests/packages/engine

test-engine: $(STAMP) $(ENGINE_STAMP)
	DRYNPU_ENGINE_VENV="$(CURDIR)/$(ENGINE)" $(PYTEST) -rs tests/packages/engine

test-mindspore-packages: $(STAMP) $(MINDSPORE_PACKAGES_STAMP)
	DRYNPU_MINDSPORE_PACKAGES_VENV="$(CURDIR)/$(MINDSPORE_PACKAGES)" $(PYTEST) tests/packages/mindspore

# Another release of MindSpore, in an environment that a user gets from pip, without pins: the examples and the guides run,
# losses are those of its CPU, and what that release lacks costs nothing else.
MINDSPORE_RELEASE ?= 2.10.0
RELEASE := .venv-mindspore-$(MINDSPORE_RELEASE)
test-mindspore-release:
	$(call new_venv,$(RELEASE))
	@echo "Setting up $(RELEASE) (a download of 0.8 GB; removed at the end)"
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check hatchling
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[mindspore]' \
		mindspore==$(MINDSPORE_RELEASE) hypothesis pytest pytest-timeout
	$(QUIET) $(RELEASE)/bin/python -m pytest -q tests/mindspore/patching; status=$$?; rm -rf $(RELEASE); exit $$status

# Another release of PyTorch in an environment of its own, which is removed; .venv has the release it is compared with.
TORCH ?= 2.10.0
test-torch: $(STAMP) native
	@$(BIN)/python tools/torch_release.py $(TORCH) $(RELEASE_OPTIONS)

test-headers: $(STAMP)
	@$(BIN)/python tools/torch_headers.py $(RELEASES)

# Another release of TensorFlow, by PYTHON=python3.13 for the newest. Three tests look for the nodes of Keras 2 by name.
NODES_OF_KERAS_2 := called_as_their_nodes or fused_operators or guides_sample
TF ?= 2.21.0
TF_RELEASE := .venv-tf-$(TF)
test-tf:
	$(call new_venv,$(TF_RELEASE))
	@echo "Setting up $(TF_RELEASE) (a download of 0.3 GB; removed at the end)"
	@$(TF_RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check hatchling
	@$(TF_RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e . \
		tensorflow-cpu==$(TF) hypothesis pytest pytest-timeout
	$(QUIET) $(TF_RELEASE)/bin/python -m pytest -q tests/tf/device2/test_training.py tests/tf/test_inside.py \
		-k "not ($(NODES_OF_KERAS_2))"; status=$$?; \
		rm -rf $(TF_RELEASE); exit $$status

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory -j2 --output-sync=target check-types check-house

# Each is one busy thread, so they run side by side.
check-types:
	$(BIN)/mypy

check-house:
	$(PYTEST) tests/test_house.py tests/test_names.py tests/test_words.py

# TORCH_NPU is a checkout of Ascend/pytorch. Its tests need expecttest, which no other test does.
test-upstream: $(STAMP) native
	@test -n "$(TORCH_NPU)" || { echo "make: say where Ascend/pytorch is checked out: make test-upstream TORCH_NPU=DIR" >&2; exit 1; }
	@$(BIN)/python $(PIP_INSTALL) --target build/expecttest --upgrade expecttest
	@$(QUIET) PYTHONPATH="$(CURDIR)/build/expecttest" $(BIN)/python tools/upstream_tests.py "$(TORCH_NPU)" $(UPSTREAM_OPTIONS)

# MSPROF is a checkout of Ascend/msprof, TORCH_NPU one of Ascend/pytorch; their parsers read what we write, and their
# files are compared with ours.
compare-vendor: $(STAMP)
	@test -n "$(MSPROF)$(TORCH_NPU)" || { echo "make: say where Ascend/msprof or Ascend/pytorch is checked out: make compare-vendor MSPROF=DIR TORCH_NPU=DIR" >&2; exit 1; }
	$(if $(MSPROF),$(QUIET) $(BIN)/python tools/vendor_parsers --msprof "$(MSPROF)" $(VENDOR_OPTIONS))
	$(if $(TORCH_NPU),$(QUIET) $(BIN)/python tools/vendor_parsers --torch-npu "$(TORCH_NPU)" $(VENDOR_OPTIONS))

$(DOCS_STAMP): pyproject.toml constraints.txt constraints-docs.txt
	$(call new_venv,$(DOCS))
	@echo "Setting up $(DOCS) (once)"
	@$(DOCS)/bin/python $(PIP_INSTALL) -c constraints-docs.txt hatchling
	@$(DOCS)/bin/python $(PIP_INSTALL) -c constraints-docs.txt --no-build-isolation -e . furo myst-parser sphinx towncrier
	@touch $@

# The pages are those of the checkout; what follows from the code (help of commands, chips, Python names) is written anew.
docs: $(DOCS_STAMP)
	@rm -rf build/site
	@$(DOCS)/bin/python -m sphinx -q -W --keep-going -b html -c docs . build/site
	@echo "Written: file://$(CURDIR)/build/site/docs/index.html"

pictures: $(STAMP)
	$(QUIET) $(BIN)/python tools/pictures.py

# ONLY is a part of the names of the scripts to run. The ratios of all of them are kept in build/bench.json.
bench: $(STAMP) $(MINDSPORE_STAMP) native
	@$(QUIET) $(BIN)/python tools/bench.py --mindspore $(MINDSPORE)/bin/python $(if $(ONLY),--only $(ONLY)) $(BENCH_OPTIONS)

# BASE is a revision; both take turns, so that other work of this machine meets both.
bench-compare: $(STAMP) native
	@test -n "$(BASE)" || { echo "make: say what to compare with: make bench-compare BASE=main" >&2; exit 1; }
	@$(QUIET) $(BIN)/python tools/bench_compare.py $(BASE) $(BENCH_OPTIONS)

# FACTS and LOGIC are how many mutants of each kind to try; FACTS=all tries every fact.
FACTS ?= all
LOGIC ?= 100

mutants: $(STAMP)
	$(QUIET) $(BIN)/python tests/mutation/mutants.py facts $(if $(filter-out all,$(FACTS)),--sample $(FACTS))
	$(QUIET) $(BIN)/python tests/mutation/mutants.py logic --sample $(LOGIC)

# How many file calls to disturb with each fault, and how many random times to kill at, for each framework.
CALLS ?= 60
TIMES ?= 20

torture: $(STAMP) $(MINDSPORE_STAMP)
	$(QUIET) $(BIN)/python tests/torture/torture.py core torch tf acl --calls $(CALLS) --times $(TIMES)
	$(QUIET) $(MINDSPORE)/bin/python tests/torture/torture.py mindspore --calls $(CALLS) --times $(TIMES)

# How many examples to try of each property of the core.
EXAMPLES ?= 500

# How many inputs the parsers get in all.
INPUTS ?= 1000000

# $(1): folder, $(2): the package that is new there; all else is read from the environment of the tests, which stays as it is.
define beside_tests
	$(call new_venv,$(1))
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check $(2)
	@$(BIN)/python -c 'import site; print(f"import site; site.addsitedir({site.getsitepackages()[0]!r})")' \
		> "$$($(1)/bin/python -c 'import site; print(site.getsitepackages()[0])')/of_the_tests.pth"
	@touch $(1)/.drynpu-installed
endef

$(FUZZ_STAMP): $(STAMP)
	$(call beside_tests,$(FUZZ),atheris)

$(COVERAGE_STAMP): $(STAMP)
	$(call beside_tests,$(COVERAGE),coverage)

# TESTS are those that are run; rooms that they do not reach are left out.
TESTS ?= tests/core tests/docs tests/tools tests/torch tests/tf tests/acl tests/plugins

coverage: $(COVERAGE_STAMP)
	$(QUIET) $(COVERAGE)/bin/python -m coverage run --rcfile tests/coverage.cfg -m pytest -q -p no:cacheprovider $(TESTS) || true
	@$(COVERAGE)/bin/python -m coverage combine --rcfile tests/coverage.cfg --quiet
	@$(COVERAGE)/bin/python -m coverage json --rcfile tests/coverage.cfg --quiet -o build/coverage.json
	@$(BIN)/python tools/coverage_floors.py build/coverage.json $(COVERAGE_OPTIONS)

# A day of training, on shapes alone: nothing may grow.
soak: $(STAMP) native
	$(QUIET) $(BIN)/python tests/soak/soak.py

# The wheel in fresh environments, for each Python that is here and each extra (GB of downloads).
test-wheels: $(STAMP)
	@$(BIN)/python tools/wheel_matrix.py $(MATRIX_OPTIONS)

# The five tasks as a stranger does them: a clone, an environment of its own, the commands of README and its pages.
test-fresh: $(STAMP)
	@$(BIN)/python tools/fresh_tasks.py

fuzz: $(FUZZ_STAMP)
	HYPOTHESIS_PROFILE=fuzz DRYNPU_EXAMPLES=$(EXAMPLES) $(PYTEST) -m hypothesis tests/core
	$(QUIET) TF_CPP_MIN_LOG_LEVEL=3 $(FUZZ)/bin/python tests/fuzz/fuzz.py --inputs $(INPUTS)

# The facades as a user's type checker sees them, against what they are at run time.
# Modules that plugins add to facades.
FACADE_PARTS := acl.media torch_npu.atb torch_npu.contrib.function torch_npu.contrib.module torch_npu.dynamo torch_npu.optim torch_npu.testing \
	torch_npu.utils.combine_tensors
PLUGINS := $(patsubst %/,%,$(wildcard plugins/*/))
FACADE_PATHS := adapters/acl/vendor adapters/tf/vendor adapters/torch/vendor $(wildcard plugins/*/vendor)
FACADE_SOURCES := $(FACADE_PATHS) core adapters/acl adapters/tf adapters/torch $(PLUGINS)
FACADES ?= acl apex torch_npu $(FACADE_PARTS) hccl npu_bridge npu_device
EMPTY :=
SPACE := $(EMPTY) $(EMPTY)

stubs: $(STAMP)
	$(QUIET) DRYNPU_AUTOLOAD=1 $(BIN)/python tools/facade_stubs.py --check
	$(QUIET) TF_CPP_MIN_LOG_LEVEL=3 PYTHONPATH="$(subst $(SPACE),:,$(FACADE_PATHS))" MYPYPATH="$(subst $(SPACE),:,$(FACADE_SOURCES))" \
		$(BIN)/stubtest --concise --ignore-unused-allowlist --allowlist tools/stubtest_allowlist.txt --mypy-config-file pyproject.toml $(FACADES)

sanitize: $(STAMP)
	$(BIN)/python tests/torch/native/sanitize.py thread
	$(BIN)/python tests/torch/native/sanitize.py address

monotonicity: $(STAMP)
	$(QUIET) MONOTONICITY_KERNELS=100000 $(BIN)/python -m pytest -q tests/core/kernels/test_monotonicity.py

calibration: $(STAMP)
	$(QUIET) $(BIN)/python tools/calibrate.py $(DATA) --write

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv .venv-python* .venv-mindspore .venv-mindspore-python* $(CONSUMERS) $(PACKAGES) $(MINDSPORE_PACKAGES) $(TRAINERS) $(ENGINE) $(DOCS) $(FUZZ) $(COVERAGE) \
		.venv-torch-* .nvidia-*

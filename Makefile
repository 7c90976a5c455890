# The two commands of the README, and those of a developer. The scripts install what a fresh Debian 12 lacks.

.PHONY: help try test lint attack bench sim

help:
	@echo "make try    build, start a private Postgres and the sample studio, print the address of the console"
	@echo "make test   install what the tests need, and run every test"
	@echo "make lint   format, lints, dependency rules"
	@echo "make attack try each promise of the walls, and print a table"
	@echo "make bench  every figure, beside its baseline (optimised build)"
	@echo "make sim    a million steps of simulated rooms, with everything going wrong (optimised build)"

try:
	@deploy/local/try

test:
	@deploy/local/test

lint:
	@deploy/local/lint

attack:
	@deploy/local/attack

bench:
	@deploy/local/bench

sim:
	@deploy/local/sim

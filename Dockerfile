# An image for clusters and servers: `docker build -t gauntlet .`, then
#
#     docker run --gpus all --shm-size=8g -v $PWD/outputs:/work/outputs gauntlet run model=pocket
#
# With Apptainer: `apptainer build gauntlet.sif docker-daemon://gauntlet:latest`. The steps below have
# been run by hand in a virtual environment (Python 3.11, torch for CPUs); the image has not been built.
FROM python:3.11-slim

ARG EXTRAS=cluster,local,tracking

COPY pyproject.toml constraints.txt README.md LICENSE /src/
COPY gauntlet /src/gauntlet
RUN pip install --no-cache-dir -c /src/constraints.txt "/src[${EXTRAS}]" && rm -r /src

# Weights, replies that were paid for, and compiled games are kept if this folder is a volume.
ENV HOME=/work XDG_CACHE_HOME=/work/cache NUMBA_CACHE_DIR=/work/cache/numba
WORKDIR /work
RUN chmod 1777 /work

ENTRYPOINT ["gauntlet"]
CMD ["--help"]

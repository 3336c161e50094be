# The image holds one file of ours, the bundle that `make build` has made (make image does both). No shell, no package
# manager, not root; nothing is written, so that the root file system may be read-only.
ARG BASE=gcr.io/distroless/nodejs24-debian13:nonroot
FROM ${BASE}

ARG VERSION
ARG REVISION
ARG CREATED
LABEL org.opencontainers.image.title="HookPolicy" \
      org.opencontainers.image.description="Cluster API lifecycle hooks as policies" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"

COPY LICENSE dist/THIRD_PARTY_LICENSES.txt /licenses/
# .mjs, because there is no package.json beside it that says "module".
COPY dist/main.js /hookpolicy.mjs

# In numbers: runAsNonRoot cannot judge a name.
USER 65532:65532
EXPOSE 9443 9444 9440 8443
ENTRYPOINT ["/nodejs/bin/node", "/hookpolicy.mjs"]
CMD ["--help"]

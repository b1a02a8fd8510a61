# The tag and the npm package @cloudflare/sandbox must have the same version.
FROM docker.io/cloudflare/sandbox:0.12.10

# The tag and the npm package @cloudflare/sandbox must be of the same version.
FROM docker.io/cloudflare/sandbox:0.12.10

// The directories of the tests of incremental snapshots.

/** Files that no archive compresses, of which there must be 5 MB. */
export const LARGE = 'head -c 6000000 /dev/urandom >/workspace/large';

export const isProduction = process.env.SANDBOX_MODE === 'production';

/**
 * Prints everything that a restore must preserve: an archive of tar has all but the times, of which a squashfs has 32 bits. An
 * overlay shows the names of a file as several files.
 */
export const DESCRIBE = String.raw`cd /workspace && tar ${isProduction ? '--hard-dereference' : ''} --sort=name --mtime=@0 --format=posix --xattrs --xattrs-include='*' --numeric-owner \
  --pax-option=delete=atime,delete=ctime,exthdr.name=%d/%f --warning=none --exclude=./socket -cf - . | sha256sum
find . ! -type s ! -type l -printf '%P %Ts\0' | perl -0 -pe 's/(-?\d+)\0\z/($1 % 2**32) . "\0"/e' | sort -z | sha256sum`;

/** The options of a world whose snapshots are incremental. */
export const INCREMENTAL = { snapshotter: { vars: { INCREMENTAL: 'true' }, port: 0 }, disk: true };

// The files that the checks write and compare.

import type { Runtime } from '../runtimes.ts';
import type { Account } from './account.ts';

/** Writes files of different kinds. */
export const MAKE = `cd /workspace && mkdir -p src empty && echo hello >src/file && ln -s file src/link && chmod 600 src/file &&
  echo 1 >'a name with spaces' && chmod 755 'a name with spaces' && head -c 1000000 /dev/urandom >random &&
  touch -d @1700000000 random`;

/** Lists the files: name, kind, mode, time in seconds, and target or digest. */
const LIST = `cd /workspace && find . -mindepth 1 | LC_ALL=C sort | while IFS= read -r f; do
  echo "$f $(stat -c '%F %a %Y' "$f") $(if [ -L "$f" ]; then readlink "$f"; elif [ -f "$f" ]; then sha256sum <"$f"; fi)"; done`;

/** Returns a line for each file of a sandbox. */
export function listFiles(account: Account, runtime: Runtime, sandboxId: string): Promise<string> {
  return account.exec(runtime, sandboxId, LIST);
}

/** Returns the lines that only one of two outputs has: `-` before those of the first, `+` before those of the second. */
export function differences(first: string, second: string): string[] {
  const [a, b] = [first.split('\n'), second.split('\n')];
  return [
    ...a.filter((line) => !b.includes(line)).map((line) => `- ${line}`),
    ...b.filter((line) => !a.includes(line)).map((line) => `+ ${line}`),
  ];
}

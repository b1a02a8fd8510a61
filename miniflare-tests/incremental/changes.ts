// Changes of a directory that each have a way to be lost.

import { LARGE } from './directory.ts';

/** Sets an extended attribute with programs that every image has: an archive of tar can contain one. */
export const attribute = (path: string, name: string) =>
  `mkdir -p /tmp/x && rm -rf /tmp/x/f && ${path.endsWith('/') ? 'mkdir' : ': >'} /tmp/x/f && tar -C /tmp/x --format=posix --pax-option='SCHILY.xattr.user.${name}:=1' -cf - f |
   tar -C "$(dirname '${path}')" --xattrs --xattrs-include='*' --transform "s,^f,$(basename '${path}')," -xf -`;

export interface Change {
  /** What exists in the base. */
  given?: string;
  /** The change, of which the command is run in the directory of the case. */
  change: string;
  /** Whether the change is not made on an overlay. */
  isForDisks?: boolean;
}

export const CHANGES: Record<string, Change> = {
  nothing: { change: ':' },
  'the content of the same size with the same time': {
    given: 'echo old >f',
    change: 't=$(stat -c %y f); echo new >f; touch -d "$t" f',
  },
  'two writes in one tick of the clock': { given: 'echo 1 >f', change: 'echo 2 >f; echo 3 >f' },
  'a write through a memory map': {
    given: 'head -c 8192 /dev/zero >f',
    change: `perl -e 'use strict; open(my $f, "+<:mmap", "f") or die; seek($f, 100, 0); print $f "x"; close $f'`,
  },
  'a sparse file': {
    change: 'truncate -s 300K f; printf x | dd of=f bs=1 seek=200000 conv=notrunc 2>/dev/null',
  },
  'an appended and a truncated file': {
    given: 'seq 1000 >f; seq 1000 >g',
    change: 'echo more >>f; truncate -s 10 g',
  },
  'a replaced file': { given: 'echo old >f', change: 'echo new >g; mv g f' },
  'odd names': {
    given: String.raw`for n in $'a\nb' $'\xff\xfe' -rf '*' '[' '\' ' ' "'" '"' '$(x)' '...'; do echo 1 >"./$n"; done; mkdir ./-d`,
    change: String.raw`for n in $'a\nb' -rf '*' '\' "'"; do echo 2 >"./$n"; done; rm ./'[' ./' '; echo 3 >$'./-d/\x01\n'; mkdir $'./n\n'`,
  },
  'long names and a long path': {
    given: 'n=$(printf x%.0s $(seq 199)); echo 1 >$n',
    change:
      'n=$(printf x%.0s $(seq 199)); echo 2 >$n; for i in 1 2 3 4 5 6 7 8 9 10; do mkdir $n. && cd $n. || exit 1; done; echo deep >f',
  },
  'a renamed directory with unchanged files': {
    given: 'mkdir -p a/b; echo 1 >a/f; echo 2 >a/b/g',
    change: 'mv a c',
  },
  'swapped directories': {
    given: 'mkdir a b; echo 1 >a/f; echo 2 >b/f; echo 3 >b/g',
    change: 'mv a t; mv b a; mv t b',
  },
  'a directory moved into another one': { given: 'mkdir -p a/b c; echo 1 >a/b/f', change: 'mv a c/a' },
  'a directory that was made again': {
    given: 'mkdir -p a/b; echo 1 >a/f; echo 2 >a/b/g',
    change: 'rm -r a; mkdir a; echo 3 >a/h',
  },
  'empty directories': { given: 'mkdir -p a/b', change: 'rmdir a/b; mkdir -p c/d' },
  'a directory without permissions': {
    given: 'mkdir a; echo 1 >a/f',
    change: 'echo 2 >a/g; chmod 000 a',
  },
  'a directory with the setgid bit': { given: 'mkdir a', change: 'chgrp 7 a; chmod 2775 a; echo 1 >a/f' },
  'deleted files': { given: 'mkdir a; echo 1 >a/f; echo 2 >g', change: 'rm a/f g' },
  'every pair of types': {
    given:
      'for from in file dir link; do for to in file dir link; do p=$from-$to; case $from in file) echo 1 >$p ;; dir) mkdir $p; echo 1 >$p/f ;; link) ln -s target $p ;; esac; done; done',
    change:
      'for from in file dir link; do for to in file dir link; do p=$from-$to; rm -rf $p; case $to in file) echo 2 >$p ;; dir) mkdir $p; echo 2 >$p/g ;; link) ln -s other $p ;; esac; done; done',
  },
  'symbolic links that lead out': {
    given: 'ln -s /etc a; mkdir b; echo 1 >b/passwd',
    change:
      'rm -r b; ln -s /etc b; rm a; mkdir a; echo 2 >a/passwd; ln -s ../../.. up; ln -s / "x//y"; ln -s "a//b" c',
  },
  'hard links': {
    isForDisks: true,
    given: 'echo 1 >a; ln a b; echo 2 >c; ln c d; echo 3 >e; echo 4 >g; ln g h',
    change: 'rm b; cp d t; mv t d; ln e f; ln g i',
  },
  'a hard link across a renamed parent': {
    isForDisks: true,
    given: 'mkdir a b; echo 1 >a/x; ln a/x b/y',
    change: 'mv a c',
  },
  'a hard link to a name outside': {
    given: 'echo 1 >a; ln a /workspace/../tmp/outside.$$ 2>/dev/null || :; echo 2 >b',
    change: 'echo 3 >>a',
  },
  'modes and owners': {
    given: 'for n in 1 2 3 4 5; do echo $n >f$n; done; mkdir d; ln -s f1 l',
    change: 'chmod 4755 f1; chown 7:8 f2; chown 9 f3; chmod 6711 f3; chmod 1777 d; chown -h 5:6 l',
  },
  'times before 1970 and after 2038': {
    given: 'echo 1 >a; touch -d 1950-01-01 a; echo 2 >b; touch -d 2100-01-01 b; echo 3 >c; echo 4 >d',
    change: 'touch -d 1960-01-01T00:00:00.5 c; touch -d 2090-01-01 d; echo 5 >e',
  },
  'extended attributes of files': {
    given: 'echo 1 >a; echo 2 >b',
    change: `${attribute('./b', 'new')}; ${attribute('./c', 'own')}`,
  },
  'a socket': {
    given: 'echo 1 >f',
    change: `perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind($s, pack_sockaddr_un("socket"))'; echo 2 >f`,
  },
};

/** Returns a command that makes what exists in the base. */
export const given = (changes: Change[]) => {
  const made = changes.map(
    ({ given = ':' }, index) => `(mkdir /workspace/${index} && cd /workspace/${index} && ${given}) || exit 1`,
  );
  return `(${[...made, LARGE].join('\n')})`;
};

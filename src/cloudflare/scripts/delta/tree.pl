# Compares listings of a directory. Each record of a listing ends with a null byte:
#   type device inode links mode uid gid size mtime ctime path//target
# A path contains no "//", so the first one ends it. The path of the directory itself is empty.
use strict;
use warnings;
use Fcntl ':mode';

my ($command, @arguments) = @ARGV;
my $MAX_ENTRIES = 500_000;

sub refuse { print "full $_[0]\n"; exit 0 }
sub reader { open(my $in, '<:raw', $_[0]) or refuse('tools'); return $in }
sub writer { open(my $out, '>:raw', $_[0]) or refuse('disk'); return $out }
sub finish { close($_[0]) or refuse('disk') }
sub parts { my @fields = split(/ /, $_[0], 11); my ($path, $target) = split(m{//}, pop(@fields), 2); return (@fields, $path, $target) }
sub parent { my ($parent) = $_[0] =~ m{\A(.*)/}s; return defined $parent ? $parent : '' }
# fuse-overlayfs cannot restore a file whose name is a mark of a deletion there, and ends where a name or a path is too long.
sub check_path { refuse('special') if length($_[0]) > 3_000 || $_[0] =~ m{(?:\A|/)\.wh\.|[^/]{201}} }
# Compares two times with fractions of the same length, as texts: a number does not have enough digits.
sub before {
  my ($left, $leftFraction) = split(/\./, $_[0]);
  my ($right, $rightFraction) = split(/\./, $_[1]);
  return $left != $right ? $left < $right : $leftFraction lt $rightFraction;
}
sub each_record {
  my ($file, $act) = @_;
  my $in = reader($file);
  local $/ = "\0";
  while (defined(my $record = <$in>)) { chomp $record; $act->($record) }
}

# The inventory of a base has these fields, and the records of all entries that had not changed since the scan began.
my @HEADER = qw(version base run dir bytes entries fence digest);
sub read_inventory {
  my ($file) = @_;
  my $in = reader($file);
  local $/ = "\0";
  my %header;
  for my $name (@HEADER) { my $value = <$in>; refuse('inventory') unless defined $value; chomp $value; $header{$name} = $value }
  refuse('inventory') if $header{version} ne 'inventory 1';
  return (\%header, $in);
}
sub write_header { my ($out, $header) = @_; print {$out} map { "$header->{$_}\0" } @HEADER }

# inventory NOW OUT BASE RUN DIR FENCE DIGEST: writes the inventory of a base from a listing that began at FENCE.
sub inventory {
  my ($now, $file, $base, $run, $dir, $fence, $digest) = @_;
  my ($entries, $bytes, %counted, $kept) = (0, 0);
  each_record($now, sub {
    my ($type, $device, $inode, $links, undef, undef, undef, $size, undef, $ctime, $path) = parts($_[0]);
    refuse('entries') if ++$entries > $MAX_ENTRIES;
    refuse('fileSystem') if $path eq '' && $ctime =~ /\.0+\z/;
    $bytes += $size if $type eq 'f' && ($links == 1 || !$counted{"$device $inode"}++);
  });
  refuse('changing') if $entries == 0;
  my $out = writer($file);
  write_header($out, { version => 'inventory 1', base => $base, run => $run, dir => $dir, bytes => $bytes, entries => $entries, fence => $fence, digest => $digest });
  each_record($now, sub { my @fields = parts($_[0]); print {$out} "$_[0]\0" if before($fields[9], $fence) });
  finish($out);
  print "ok $bytes $entries $digest\n";
}

# seal INVENTORY OUT BASE DIRECTORIES: leaves out the content of directories that may have been elsewhere while the base was
# archived: their content keeps its records. Such a directory is no longer where it was; or it was renamed back, and then its
# ctime and that of its parent are new. DIRECTORIES has a record `device inode ctime path` of each directory after the archive
# was stored; the path of the parent of all is `..`.
sub seal {
  my ($file, $new, $base, $directories) = @_;
  my ($header, $in) = read_inventory($file);
  refuse('inventory') if $header->{base} ne $base;
  my (%then, %now, %changed, %stayed);
  {
    local $/ = "\0";
    while (defined(my $record = <$in>)) { chomp $record; my @fields = parts($record); $then{$fields[10]} = "$fields[1] $fields[2]" if $fields[0] eq 'd' }
  }
  each_record($directories, sub {
    my ($device, $inode, $ctime, $path) = split(/ /, $_[0], 4);
    $now{$path} = "$device $inode";
    $changed{$path} = 1 unless before($ctime, $header->{fence});
  });
  my $has_stayed;
  $has_stayed = sub {
    my ($path) = @_;
    return $stayed{$path} if exists $stayed{$path};
    my $above = $path eq '' ? '..' : parent($path);
    my $is_same = defined $then{$path} && defined $now{$path} && $then{$path} eq $now{$path} && !($changed{$path} && $changed{$above});
    return $stayed{$path} = $is_same && ($path eq '' || $has_stayed->($above)) ? 1 : 0;
  };
  refuse('changing') unless $has_stayed->('');
  ($header, $in) = read_inventory($file);
  my $out = writer($new);
  write_header($out, $header);
  local $/ = "\0";
  while (defined(my $record = <$in>)) {
    chomp $record;
    my $path = (parts($record))[10];
    print {$out} "$record\0" if $path eq '' || $has_stayed->(parent($path));
  }
  finish($out);
  print "ok $header->{bytes} $header->{entries} $header->{digest}\n";
}

# The line of an entry in a digest. Times have whole seconds, 32 bits, and links are those in the directory: what a squashfs keeps.
sub digest_line {
  my ($first, $type, $device, $inode, $links, $mode, $uid, $gid, $size, $mtime, undef, $path, $target) = @_;
  my ($seconds) = split(/\./, $mtime);
  my $time = $type eq 'l' ? '-' : $seconds % 4294967296;
  my $link = $type eq 'f' && $links > 1 && $first->{"$device $inode"}[1] > 1 ? $first->{"$device $inode"}[0] : '';
  return join(' ', $type, $type eq 'l' ? '-' : $mode, $uid, $gid, $type eq 'f' ? $size : '-', $time, "$path//$target//$link");
}

# Returns the first name, in the order of bytes, and the number of names in the directory, of each file with several.
sub first_names {
  my ($now) = @_;
  my %first;
  each_record($now, sub {
    my ($type, $device, $inode, $links, $path) = (parts($_[0]))[0 .. 3, 10];
    return unless $type eq 'f' && $links > 1;
    my $known = $first{"$device $inode"} ||= [$path, 0];
    $known->[0] = $path if $path lt $known->[0];
    $known->[1]++;
  });
  return \%first;
}

# listing NOW OUT: writes the lines of the digest, not sorted.
sub listing {
  my ($now, $file) = @_;
  my $first = first_names($now);
  my $out = writer($file);
  each_record($now, sub { print {$out} digest_line($first, parts($_[0])), "\0" });
  finish($out);
  print "ok\n";
}

# delta NOW INVENTORY BASE RUN DIR PERCENT LISTS NAMES LISTING: writes what the restore of a delta needs: the entries of all
# directories that changed, the names to archive, and the lines of the digest.
sub delta {
  my ($now, $file, $base, $run, $dir, $percent, $lists, $names, $listing) = @_;
  my ($header, $in) = read_inventory($file);
  refuse('inventory') if $header->{base} ne $base || $header->{dir} ne $dir;
  refuse('container') if $header->{run} ne $run;
  my %known;
  {
    local $/ = "\0";
    while (defined(my $record = <$in>)) { chomp $record; $known{$record} = 1 }
  }
  my ($entries, $bytes, %counted, %stored, %directories, %inodes) = (0, 0);
  each_record($now, sub {
    my ($type, $device, $inode, $links, undef, undef, undef, $size, undef, undef, $path) = parts($_[0]);
    refuse('entries') if ++$entries > $MAX_ENTRIES;
    refuse('special') if $type !~ /\A[dfl]\z/ || ($type eq 'l' && $links > 1);
    check_path($path);
    $bytes += $size if $type eq 'f' && ($links == 1 || !$counted{"$device $inode"}++);
    return if $known{$_[0]};
    $stored{$path} = 1;
    $directories{$path} = [] if $type eq 'd';
    $inodes{"$device $inode"} = 1 if $type eq 'f' && $links > 1;
  });
  %known = ();
  my ($first, $payload) = (first_names($now), 0);
  my $out = writer($listing);
  each_record($now, sub {
    my ($type, $device, $inode, $links, undef, undef, undef, $size, undef, undef, $path) = my @fields = parts($_[0]);
    print {$out} digest_line($first, @fields), "\0";
    push @{ $directories{parent($path)} }, $type . ($path =~ m{([^/]*)\z}s)[0] if $path ne '' && $directories{parent($path)};
    $stored{$path} = 1 if $type eq 'f' && $links > 1 && $inodes{"$device $inode"};
    $payload += $size if $type eq 'f' && $stored{$path} && ($links == 1 || $first->{"$device $inode"}[0] eq $path);
  });
  finish($out);
  refuse('large') if $payload * 100 > $percent * $header->{bytes};
  # The extraction of an entry changes the time of its parent.
  for my $path (keys %stored) { while ($path ne '') { $path = parent($path); last if $stored{$path}++ } }
  write_stored($lists, $names, \%stored, \%directories);
  print "ok $bytes $entries $header->{bytes}\n";
}

# Writes the names to archive, and the entries of each directory that changed.
sub write_stored {
  my ($lists, $names, $stored, $directories) = @_;
  $stored->{''} = 1;
  my $out = writer($names);
  print {$out} map { ($_ eq '' ? '.' : "./$_") . "\0" } sort keys %{$stored};
  finish($out);
  $out = writer($lists);
  for my $path (sort keys %{$directories}) { print {$out} "/$path\0", map({ "$_\0" } sort @{ $directories->{$path} }), "\0" }
  finish($out);
}

# overlay UPPER LOWER SIZE PERCENT LISTS NAMES: writes what the restore of a delta needs, from an overlay on the working directory.
# UPPER has the path of each entry of its upper directory, LOWER is its lower directory, and SIZE the size of the archive there.
# Whatever differs from the lower directory is in the upper one. An entry there that the overlay does not show marks a deletion.
# The overlay does not keep all names of a file equal, so there is no delta where a file with several names is involved.
my $MAX_REMOVED = 20_000;
sub overlay {
  my ($upper, $lower, $size, $percent, $lists, $names) = @_;
  my ($entries, $payload, $added, $gone, $count, %stored, %directories) = (0, 0, 0, 0, 0);
  my $lose;
  $lose = sub {
    my ($path) = @_;
    my @found = lstat($path) or return;
    refuse('large') if ++$count > $MAX_REMOVED;
    if (!S_ISDIR($found[2])) { refuse('special') if $found[3] > 1; $gone += $found[7] if S_ISREG($found[2]); return }
    $lose->("$path/$_") for names_in($path);
  };
  each_record($upper, sub {
    my ($path) = @_;
    refuse('entries') if ++$entries > $MAX_ENTRIES;
    my @found = lstat("./$path") or return;
    return if S_ISSOCK($found[2]);
    check_path($path);
    my $type = type_of("./$path");
    refuse('special') if $type eq '?' || ($type ne 'd' && $found[3] > 1);
    my @base = lstat("$lower/$path");
    $stored{$path} = 1;
    if ($type eq 'f') { $payload += $found[7]; $added += $found[7] }
    if ($type eq 'd') {
      my %types = map { $_ => type_of("./$path/$_") } grep { !is_socket("./$path/$_") } names_in("./$path");
      refuse('special') if grep { $_ eq '?' } values %types;
      $directories{$path} = [map { "$types{$_}$_" } keys %types];
      if (@base && S_ISDIR($base[2])) { for my $name (names_in("$lower/$path")) { $lose->("$lower/$path/$name") if ($types{$name} || '') ne type_of("$lower/$path/$name") } }
    } elsif (@base && $type eq type_of("$lower/$path")) { $lose->("$lower/$path") }
  });
  refuse('large') if $payload * 100 > $percent * $size;
  # The files of the lower directory are listed only where most of them may be gone.
  my $all = $gone * 2 > $size ? total($lower) : $size;
  for my $path (keys %stored) { while ($path ne '') { $path = parent($path); last if $stored{$path}++ } }
  write_stored($lists, $names, \%stored, \%directories);
  my $bytes = $all - $gone + $added;
  print 'ok ', ($bytes > 0 ? $bytes : 0), " $entries $all\n";
}
sub is_socket { my @found = lstat($_[0]); return @found && S_ISSOCK($found[2]) }
sub names_in {
  opendir(my $open, $_[0]) or refuse('changing');
  my @names = grep { $_ ne '.' && $_ ne '..' } readdir($open);
  closedir($open);
  return @names;
}
# Returns the size of all files in a directory.
sub total {
  my ($bytes, @pending) = (0, @_);
  while (defined(my $dir = pop @pending)) {
    for my $name (names_in($dir)) {
      my @found = lstat("$dir/$name") or next;
      if (S_ISDIR($found[2])) { push @pending, "$dir/$name" } elsif (S_ISREG($found[2])) { $bytes += $found[7] }
    }
  }
  return $bytes;
}

# Removes what is not on another device than the directory above it: something may be mounted there at any time.
sub remove {
  my ($path, $device) = @_;
  my @found = lstat($path) or return;
  if (!S_ISDIR($found[2])) { unlink($path) or die "$!\n"; return }
  die "a mount\n" if $found[0] != $device;
  opendir(my $open, $path) or die "$!\n";
  for my $name (readdir($open)) { remove("$path/$name", $device) unless $name eq '.' || $name eq '..' }
  closedir($open);
  rmdir($path) or die "$!\n";
}
sub type_of {
  my @found = lstat($_[0]) or return '';
  return S_ISDIR($found[2]) ? 'd' : S_ISREG($found[2]) ? 'f' : S_ISLNK($found[2]) ? 'l' : '?';
}

# Calls a function with the path of each directory of the lists, and its entries by name.
sub each_list {
  my ($file, $act) = @_;
  my $in = reader($file);
  while (1) {
    local $/ = "\0";
    my $path = <$in>;
    last unless defined $path;
    chomp $path;
    die "a path\n" if $path !~ m{\A/} || $path =~ m{//|/\.{1,2}(?:/|\z)|./\z}s;
    my %present;
    while (defined(my $entry = <$in>)) {
      chomp $entry;
      last if $entry eq '';
      die "a name\n" if $entry !~ m{\A[dfl](?!\.{1,2}\z)[^/]+\z}s;
      $present{substr($entry, 1)} = substr($entry, 0, 1);
    }
    $act->($path, \%present);
  }
}

# check LISTS: verifies that the directories in the working directory have exactly the entries of the lists.
sub check {
  each_list($_[0], sub {
    my ($path, $present) = @_;
    my @names = grep { !is_socket(".$path/$_") } names_in(".$path");
    die "an entry\n" if @names != keys %{$present};
    for my $name (@names) { die "a type\n" if type_of(".$path/$name") ne ($present->{$name} || '') }
  });
  print "ok\n";
}

# apply LISTS: removes what the lists do not contain from the working directory.
sub apply {
  each_list($_[0], sub {
    my ($path, $present) = @_;
    my ($here, $is_new) = ('.', 0);
    for my $name (grep { $_ ne '' } split(m{/}, $path)) {
      $here .= "/$name";
      my $type = type_of($here);
      if ($type ne 'd') { die "a parent\n" if $type ne ''; $is_new = 1; last }
    }
    return if $is_new;
    # tar sets the mode of a directory that it makes only where it expects another one, and not a bit that the parent passes on.
    # It sets the mode of this directory at its end.
    my ($device, $mode) = (lstat($here))[0, 2];
    if ($mode & S_ISGID) { chmod($mode & 01777, $here) or die "$!\n" }
    opendir(my $open, $here) or die "$!\n";
    my @names = readdir($open);
    closedir($open);
    for my $name (@names) {
      next if $name eq '.' || $name eq '..';
      my $type = $present->{$name};
      remove("$here/$name", $device) unless defined $type && $type eq type_of("$here/$name");
    }
  });
  print "ok\n";
}

my %commands = (inventory => \&inventory, seal => \&seal, listing => \&listing, delta => \&delta, overlay => \&overlay, apply => \&apply, check => \&check);
$commands{$command}->(@arguments);

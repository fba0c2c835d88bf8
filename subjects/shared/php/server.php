<?php
// What a server subject is told by its environment, and how it says that it stands; docs/SUBJECTS.md.

function setting(string $name, ?string $otherwise = null): ?string
{
    $value = getenv("WIREBENCH_$name");
    return $value === false ? $otherwise : $value;
}

/** Says that `scheme` is served on `address`, a host and a port. */
function ready(string $scheme, string $address): void
{
    fwrite(STDOUT, "ready $scheme://$address/\n");
}

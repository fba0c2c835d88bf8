<?php
// What a server subject is told by its environment, and how it says that it stands; docs/SUBJECTS.md.

function setting(string $name, ?string $otherwise = null): ?string
{
    $value = getenv("WIREBENCH_$name");
    return $value === false ? $otherwise : $value;
}

/** Keeps the processor busy for as long as a message is to cost, before it is answered. */
function work(): void
{
    static $ns = null;
    $ns ??= (int) setting('WORK_NS', '0');
    for ($end = hrtime(true) + $ns; $ns > 0 && hrtime(true) < $end;);
}

/** Says that `scheme` is served on `address`, a host and a port. */
function ready(string $scheme, string $address): void
{
    fwrite(STDOUT, "ready $scheme://$address/\n");
}

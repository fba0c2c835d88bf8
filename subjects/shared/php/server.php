<?php
// The settings of a server subject from its environment, and its reports that it is ready; docs/SUBJECTS.md.

function setting(string $name, ?string $otherwise = null): ?string
{
    $value = getenv("WIREBENCH_$name");
    return $value === false ? $otherwise : $value;
}

/** Keeps the processor busy for the time that a message is to cost, before it is answered. */
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

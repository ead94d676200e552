-- Operations of the framework by self time, with idle time.
{framework_rows with_idle=true}

-- Operations of the framework by self time, without idle time.
{framework_rows with_idle=false}

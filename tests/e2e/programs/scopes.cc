// The annotations from C++: scopes end with their blocks, however those are left.
#include <kymo/kymo.h>

static int work(int n)
{
    KYMO_SCOPE("work", kymo_int("n", n));
    KYMO_SCOPE_AT(2, "inner");
    if (n == 0)
        return 0;
    KYMO_INSTANT("deeper", kymo_double("half", n / 2.0));
    return work(n - 1);
}

int main()
{
    KYMO_BEGIN("main");
    work(2);
    KYMO_END("main");
    return 0;
}

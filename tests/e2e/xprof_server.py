"""XProf's own server on a log directory, on a free port of the loopback interface, which it prints: xprof_server.py LOGDIR."""

import sys

from cheroot import wsgi
from xprof import profile_plugin_loader, server
from xprof.standalone import base_plugin, plugin_event_multiplexer


def main():
    context = base_plugin.TBContext(sys.argv[1], plugin_event_multiplexer.DataProvider(sys.argv[1]), base_plugin.TBContext.Flags(False))
    plugin = profile_plugin_loader.ProfilePluginLoader().load(context)
    web = wsgi.Server(("127.0.0.1", 0), server.make_wsgi_app(plugin))
    web.prepare()
    print(web.bind_addr[1], flush=True)
    web.serve()


if __name__ == "__main__":
    main()

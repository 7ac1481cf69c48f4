#if canImport(Network)
  import Dispatch
  import Network

  /// The connectivity of the platform's monitor of network paths. Online until the monitor reports the first path.
  ///
  /// The monitor says whether the device has a network, not whether a server can be reached.
  public final class SystemConnectivity: Connectivity {
    private let monitor = NWPathMonitor()
    private let state = ManualConnectivity()

    /// Makes a connectivity and starts its monitor, which ends with the release.
    public init() {
      monitor.pathUpdateHandler = { [state] path in state.isOnline = path.status == .satisfied }
      monitor.start(queue: DispatchQueue(label: "coherence.connectivity"))
    }

    deinit { monitor.cancel() }

    public var isOnline: Bool { state.isOnline }
    public var changes: AsyncStream<Bool> { state.changes }
  }
#endif

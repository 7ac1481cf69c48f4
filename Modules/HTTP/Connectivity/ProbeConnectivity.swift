public import CoherenceActions
public import HTTPTypes

/// A connectivity that sends a request to an address, and is online when a reply comes.
///
/// ```swift
/// let connectivity = ProbeConnectivity(HTTPRequest(method: .head, url: url), client: http)
/// ```
///
/// The state is online at first. The connectivity sends the request at the beginning, with each ``check()``, after each
/// failure that the program reports with ``noteFailure()``, and while offline, after each interval. Without a failure, an
/// online connectivity sends nothing. The release ends the requests.
public final class ProbeConnectivity: Connectivity {
  private let state = ManualConnectivity()
  private let probe: Probe
  /// Wakes the task that sends requests while offline.
  private let wake: AsyncStream<Void>.Continuation
  private let task: Task<Void, Never>

  /// Makes a connectivity, and sends the first request.
  ///
  /// - Parameters:
  ///   - request: A request that costs the server little, such as a `HEAD`. Its reply must not come from a cache.
  ///   - client: Sends the request, best with a time limit and without retries.
  ///   - interval: The time between two requests while offline.
  ///   - clock: Waits for the interval.
  ///   - isOnline: Whether a reply means that the server can be reached; by default every status below 500 does. Use a
  ///     stricter test where a network of a hotel may send a page of its own.
  public init(
    _ request: HTTPRequest, client: any HTTPClient, interval: Duration = .seconds(10), clock: any HTTPClock = .system,
    isOnline: @escaping @Sendable (HTTPReply) -> Bool = { $0.status.code < 500 }
  ) {
    let probe = Probe(request: request, client: client, isOnline: isOnline)
    let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (self.probe, self.wake) = (probe, wake)
    task = Task { [state] in
      state.isOnline = await probe.send()
      if !state.isOnline { wake.yield() }
      for await _ in wakes {
        while !state.isOnline {
          do { try await clock.wait(for: interval) } catch { return }
          if await probe.send() { state.isOnline = true }
        }
      }
    }
  }

  deinit {
    task.cancel()
    wake.finish()
  }

  public var isOnline: Bool { state.isOnline }
  public var changes: AsyncStream<Bool> { state.changes }

  /// Sends the request now, and returns the new state.
  @discardableResult
  public func check() async -> Bool {
    let isOnline = await probe.send()
    // A canceled request says nothing about the server.
    if Task.isCancelled { return state.isOnline }
    state.isOnline = isOnline
    if !isOnline { wake.yield() }
    return isOnline
  }

  /// Reports that a request of the program has failed. Sends the request in the background.
  public func noteFailure() { Task { await check() } }
}

/// The request of a connectivity.
private struct Probe: Sendable {
  let request: HTTPRequest
  let client: any HTTPClient
  let isOnline: @Sendable (HTTPReply) -> Bool

  /// Sends the request, and returns whether the server can be reached.
  func send() async -> Bool {
    do { return isOnline(try await client.send(request, body: nil)) } catch { return false }
  }
}

public import CoherenceActions
public import HTTPTypes
import Synchronization

/// A connectivity that sends a request to an address, and is online after a reply of a server that can be reached.
///
/// ```swift
/// let connectivity = ProbeConnectivity(HTTPRequest(method: .head, url: url), client: http)
/// ```
///
/// The state is online at first. The connectivity sends the request at the beginning, with each ``check()``, after
/// failures that an outbox, a refresher or the program reports with ``noteFailure()``, and while offline, after each
/// interval. An online connectivity sends nothing by itself. The release ends the requests.
public final class ProbeConnectivity: Connectivity {
  private let probe: Probe
  /// Wakes the task that sends requests while offline.
  private let wake: AsyncStream<Void>.Continuation
  private let task: Task<Void, Never>
  /// Whether a request for reported failures runs, and whether failures were reported meanwhile.
  private let reports = Mutex((isRunning: false, isRepeated: false))

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
    task = Task {
      if await !probe.send() { wake.yield() }
      for await _ in wakes {
        while !probe.state.isOnline {
          do { try await clock.wait(for: interval) } catch { return }
          await probe.send()
        }
      }
    }
  }

  deinit {
    task.cancel()
    wake.finish()
  }

  public var isOnline: Bool { probe.state.isOnline }
  public var changes: AsyncStream<Bool> { probe.state.changes }

  /// Sends the request now, and returns the new state.
  @discardableResult
  public func check() async -> Bool {
    let isOnline = await probe.send()
    if !isOnline { wake.yield() }
    return isOnline
  }

  /// Reports that a request to the server has failed. Sends the connectivity's own request in the background.
  ///
  /// The failures that are reported during this request share one further request, which is only sent if the server
  /// has replied: many requests that fail at once cost the server two.
  public func noteFailure() {
    let begins = reports.withLock { reports in
      if reports.isRunning {
        reports.isRepeated = true
        return false
      }
      reports.isRunning = true
      return true
    }
    if begins { Task { await checkReports() } }
  }

  /// Sends requests until no failure was reported during the last one, or the server cannot be reached.
  private func checkReports() async {
    var isChecking = true
    while isChecking {
      let isOnline = await check()
      isChecking = reports.withLock { reports in
        let repeats = isOnline && reports.isRepeated
        reports = (isRunning: repeats, isRepeated: false)
        return repeats
      }
    }
  }
}

/// The request of a connectivity, and the state by its replies.
private final class Probe: Sendable {
  let state = ManualConnectivity()
  private let request: HTTPRequest
  private let client: any HTTPClient
  private let isOnline: @Sendable (HTTPReply) -> Bool
  /// The number of the next request, and the greatest number of a request that has ended, with a reply or an error.
  private let order = Mutex((next: 1, latest: 0))

  init(request: HTTPRequest, client: any HTTPClient, isOnline: @escaping @Sendable (HTTPReply) -> Bool) {
    self.request = request
    self.client = client
    self.isOnline = isOnline
  }

  /// Sends the request, and returns whether the server can be reached. A late reply does not count against that of a
  /// later request.
  @discardableResult
  func send() async -> Bool {
    let number = order.withLock { order in
      defer { order.next += 1 }
      return order.next
    }
    var isReached = false
    do {
      isReached = isOnline(try await client.send(request, body: nil))
    } catch {
      // A cancelled request says nothing about the server.
      if Task.isCancelled { return state.isOnline }
    }
    return order.withLock { order in
      guard number > order.latest else { return state.isOnline }
      order.latest = number
      state.isOnline = isReached
      return isReached
    }
  }
}

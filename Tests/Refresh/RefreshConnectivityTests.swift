import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import Foundation
import Synchronization
import TestActionSupport
import Testing
import TestSupport

/// The reports of a refresher to its connectivity.
@Suite("Reports of failed refreshes", .timeLimit(.minutes(15)))
struct RefreshConnectivityTests {
  private let source = Source()
  /// A task-local value of the program.
  @TaskLocal private static var work: String?

  private func refresher(
    of program: Program, in place: Place, _ network: ReportedConnectivity
  ) throws -> Refresher {
    var options = RefreshOptions()
    options.clock = place.clock
    options.backoff = RetryPolicy(initialDelay: .seconds(10), factor: 2, maximumDelay: .seconds(600), jitter: 0)
    return try Refresher(program.connect, connectivity: network, options: options)
  }

  /// Registers a list whose first loads find the server unavailable.
  private func registerList(with refresher: Refresher, failing count: Int) throws {
    try refresher.register(list: Song.self) { [source] request in
      guard try await source.enter(request) > count else {
        throw CoherenceError(.serverUnreachable, "The service is down.", isRetryable: true)
      }
    }
  }

  @Test(arguments: Backend.available)
  func `an attempt that finds the server unavailable is reported, and the return of the server begins another attempt`(
    backend: Backend
  ) async throws {
    let place = try Place(backend)
    let program = try place.program()
    let network = ReportedConnectivity(goesOffline: true)
    let refresher = try refresher(of: program, in: place, network)
    try registerList(with: refresher, failing: 1)
    await refresher.start()
    for await isOnline in network.changes where !isOnline { break }
    #expect(source.reasons == [.start])
    network.state.isOnline = true
    await source.untilLoaded(2)
    #expect(try await refresher.refresh(Song.self, onlyIfStale: true).lastSyncStatus == .succeeded)
    #expect(source.reasons == [.start, .online])
    #expect(network.reportCount == 1)
    await refresher.stop()
    try await program.end()
  }

  @Test func `a connectivity that stays online after a report does not shorten the delay after a failure`()
    async throws
  {
    let place = try Place()
    let program = try place.program()
    let network = ReportedConnectivity(goesOffline: false)
    let refresher = try refresher(of: program, in: place, network)
    try registerList(with: refresher, failing: 2)
    await refresher.start()
    for (count, delay) in [(1, 10.0), (2, 20.0)] {
      await source.untilLoaded(count)
      await place.clock.untilWaiting()
      #expect(place.clock.dates == [place.clock.now + delay])
      place.clock.advance(by: delay)
    }
    await source.untilLoaded(3)
    #expect(source.reasons == [.start, .schedule, .schedule])
    #expect(network.reportCount == 2)
    await refresher.stop()
    try await program.end()
  }

  @Test func `an attempt that fails for another reason is not reported`() async throws {
    let place = try Place()
    let program = try place.program()
    let network = ReportedConnectivity(goesOffline: true)
    let refresher = try refresher(of: program, in: place, network)
    source.fail(1)
    try refresher.register(list: Song.self) { [source] in try await source.load($0) }
    await refresher.start()
    await place.clock.untilWaiting()
    #expect(source.reasons == [.start])
    #expect(network.reportCount == 0)
    await refresher.stop()
    try await program.end()
  }

  @Test func `an automatic attempt has no task-local values of the fetch that begins it`() async throws {
    let place = try Place()
    let program = try place.program()
    let works = Mutex<[String?]>([])
    let network = ReportedConnectivity(goesOffline: true) { works.withLock { $0.append(Self.work) } }
    let refresher = try refresher(of: program, in: place, network)
    try refresher.register(list: Song.self, stalenessInterval: .seconds(600)) { [source] request in
      guard try await source.enter(request) == 1 else {
        throw CoherenceError(.serverUnreachable, "The service is down.", isRetryable: true)
      }
    }
    await refresher.start()
    #expect(try await refresher.refresh(Song.self, onlyIfStale: true).lastSyncStatus == .succeeded)
    place.clock.advance(by: 601)
    _ = try await Self.$work.withValue("fetch") { try await program.titles() }
    for await isOnline in network.changes where !isOnline { break }
    #expect(source.reasons == [.start, .staleFetch])
    #expect(works.withLock { $0 } == [nil])
    await refresher.stop()
    try await program.end()
  }
}

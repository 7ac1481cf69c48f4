import Coherence
import CoherenceModelMacros
import Foundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A user's first generic action, with public API only. A lock protects mutable state, because another thread can
/// cancel the running action.
final class MyGenericAction: GenericAction {
  private let canceled = Mutex(false)
  private let work: @Sendable () -> Void

  init(work: @escaping @Sendable () -> Void = {}) { self.work = work }

  ///
  /// This will be executed by the container
  ///
  func execute() throws {

    guard !canceled.withLock({ $0 }) else { return }

    /// Perform work here
    work()
  }

  func cancel() {
    self.canceled.withLock { $0 = true }
  }
}

final class MyEntityAction: EntityAction {
  typealias ManagedObjectType = Reading

  private let canceled = Mutex(false)

  private let webService: MyWebService
  private let parameter1: Double
  private let parameter2: Double

  ///
  /// Capture the parameters you require for the Web Service call in your init
  ///
  public init(webService: MyWebService, parameter1: Double, parameter2: Double) {
    self.webService = webService
    self.parameter1 = parameter1
    self.parameter2 = parameter2
  }

  ///
  /// This will be executed by the container passing you an `ActionContext` to use for your database work.
  ///
  func execute(context: ActionContext) throws {

    guard !canceled.withLock({ $0 }) else { return }

    let (data, response, error) = webService.execute(
      request: MyWebServiceTask(parameter1: self.parameter1, parameter2: self.parameter2))

    guard !canceled.withLock({ $0 }) else { return }

    if let response = response as? HTTPURLResponse {

      switch response.statusCode {

      case 200:
        ///
        /// Process the returned data
        ///
        let readings = try JSONDecoder().decode([ReadingRecord].self, from: data ?? Data())
        try context.merge(records: readings, for: Reading.entity())
      default:
        break
      }
    }

    ///
    ///  Errors can be thrown directly from actions.  The container will
    ///  catch them and report them back through the notification system
    ///  and you completion block if one was supplied.
    ///
    if let error = error {
      throw error
    }
  }

  func cancel() {
    self.canceled.withLock { $0 = true }
  }
}

// MARK: - What the actions work with

struct MyWebServiceTask: Sendable {
  let parameter1: Double
  let parameter2: Double
}

/// A web service that responds at once, or throws that it is unavailable.
struct MyWebService: Sendable {
  var statusCode = 200
  var failure: URLError?
  /// Called during each request.
  var whileAnswering: @Sendable () -> Void = {}

  func execute(request: MyWebServiceTask) -> (Data?, URLResponse?, (any Error)?) {
    whileAnswering()
    if let failure { return (nil, nil, failure) }
    let response = URL(string: "http://service.example.com").flatMap {
      HTTPURLResponse(url: $0, statusCode: statusCode, httpVersion: nil, headerFields: nil)
    }
    return (Data("[{\"id\": 1, \"value\": \(request.parameter1 + request.parameter2)}]".utf8), response, nil)
  }
}

@Entity(userInfo: ["uniquenessAttributes": "id"])
final class Reading: ManagedObject {
  var id: Int64
  var value: Double

  static let model = Result { try ManagedObjectModel(Reading.self, name: "Readings") }

  static func entity() throws -> EntityDescription { try model.get().entity(for: Reading.self) }
}

struct ReadingRecord: Codable {
  let id: Int64
  let value: Double
}

// MARK: - The tests

@Suite("First steps with a Connect: actions")
struct FirstActionsTests {
  private let connect: any Connect & ActionManager

  init() throws {
    connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Readings", managedObjectModel: try Reading.model.get())
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try connect.start()
  }

  /// Waits for the completion block instead of awaiting the handle.
  private func finished(
    _ submit: (@escaping @Sendable (any ActionProxy) -> Void) throws -> any ActionProxy
  ) async throws -> any ActionProxy {
    let (stream, continuation) = AsyncStream<any ActionProxy>.makeStream()
    let proxy = try submit { continuation.yield($0) }
    for await finished in stream {
      #expect(finished === proxy)
      break
    }
    return proxy
  }

  private func values() async throws -> [Double] {
    let context = connect.newBackgroundContext()
    return try await context.perform { try context.fetch(FetchRequest(Reading.self)).map(\.value) }
  }

  @Test func `a generic action is executed, and its proxy reports the result`() async throws {
    let runs = Atomic(0)
    let action = MyGenericAction { runs.add(1, ordering: .relaxed) }
    let proxy = try await finished { try connect.execute(action, completionBlock: $0) }
    #expect(proxy.state == .finished && proxy.completionStatus == .successful && proxy.error == nil)
    #expect(proxy.statistics.finishTime != nil)
    #expect(runs.load(ordering: .relaxed) == 1)
  }

  @Test func `a generic action is cancelled by its proxy`() async throws {
    connect.suspended = true
    let runs = Atomic(0)
    let action = MyGenericAction { runs.add(1, ordering: .relaxed) }
    let proxy = try await finished { block in
      let proxy = try connect.execute(action, completionBlock: block)
      proxy.cancel()
      return proxy
    }
    #expect(proxy.completionStatus == .canceled)
    #expect(runs.load(ordering: .relaxed) == 0)
  }

  @Test func `an entity action merges the values of the web service into the stores`() async throws {
    let action = MyEntityAction(webService: MyWebService(), parameter1: 1.5, parameter2: 2)
    let proxy = try await finished { try connect.execute(action, completionBlock: $0) }
    #expect(proxy.error == nil && proxy.completionStatus == .successful)
    #expect(proxy.statistics.contextStatistics?.inserts == 1)
    #expect(try await values() == [3.5])
  }

  @Test func `a refusal of the web service changes nothing`() async throws {
    let action = MyEntityAction(webService: MyWebService(statusCode: 503), parameter1: 1, parameter2: 2)
    let proxy = try await finished { try connect.execute(action, completionBlock: $0) }
    #expect(proxy.completionStatus == .successful)
    #expect(try await values().isEmpty)
  }

  @Test func `an error thrown by an action is in its proxy`() async throws {
    let service = MyWebService(failure: URLError(.timedOut))
    let action = MyEntityAction(webService: service, parameter1: 1, parameter2: 2)
    let proxy = try await finished { try connect.execute(action, completionBlock: $0) }
    #expect((proxy.error as? URLError)?.code == .timedOut)
    #expect(proxy.completionStatus == .failed)
  }

  @Test func `an entity action cancelled while the service responds merges nothing`() async throws {
    let known = Mutex<(any ActionProxy)?>(nil)
    let submitted = DispatchSemaphore(value: 0)
    let service = MyWebService(whileAnswering: {
      submitted.wait()
      known.withLock { $0 }?.cancel()
    })
    let action = MyEntityAction(webService: service, parameter1: 1, parameter2: 2)
    let proxy = try await finished { block in
      let proxy = try connect.execute(action, completionBlock: block)
      known.withLock { $0 = proxy }
      submitted.signal()
      return proxy
    }
    #expect(proxy.completionStatus == .canceled)
    #expect(try await values().isEmpty)
  }
}

import FlyingFox
import FlyingSocks
import Foundation

/// Serves a catalog over HTTP on the loopback interface, as the web service of the demo.
///
/// | request | response |
/// |---|---|
/// | `GET /packages?page=N&size=M` | ``PackagePage`` |
/// | `GET /packages/{name}` | ``PackageRecord`` |
/// | `PATCH /packages/{name}` with ``PackageEdit`` | the edited ``PackageRecord`` |
/// | `GET /maintainers?page=N&size=M` | ``MaintainerPage`` |
/// | `GET /sections` | ``SectionList`` |
/// | `GET /notes` | ``NoteList`` |
/// | `POST /notes` with ``NoteRecord`` | the inserted ``NoteRecord`` |
/// | `PATCH /notes/{id}` with ``NoteChange`` | the changed ``NoteRecord``; with 409 the note of another client |
/// | `DELETE /notes/{id}` | nothing |
///
/// Pages count from 1. Every response has an `ETag`, made of its content. A request with this tag in `If-None-Match`
/// gets 304 without a body. An edit with the tag in `If-Match` gets 412 after another client has edited the package.
/// Each edit of a note has an `Idempotency-Key`: a repeated edit gets the first response and changes nothing.
public actor CatalogService {
  private let requestedPort: UInt16
  private let requests: CatalogRequests
  private let notes: NoteRoutes
  private var running: (server: HTTPServer, task: Task<Void, any Error>)?

  /// - Parameters:
  ///   - port: The port; 0 for any free port.
  ///   - notes: The notes. After a stop, another service may use the same notes.
  public init(catalog: Catalog, port: UInt16 = 0, notes: NoteBook = NoteBook()) {
    requestedPort = port
    requests = CatalogRequests(catalog: catalog)
    self.notes = NoteRoutes(book: notes)
  }

  /// Starts to listen and returns the URL of the service. Throws when the port is in use or the service already runs.
  public func start() async throws -> URL {
    guard running == nil else { throw CatalogServiceError.runningAlready }
    let server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: requestedPort), logger: .disabled)
    let (outcomes, outcome) = AsyncStream<(any Error)?>.makeStream()
    let task = Task { [requests, notes] in
      do {
        await requests.addRoutes(to: server)
        await notes.add(to: server)
        try await server.run()
      } catch {
        outcome.yield(error)
        throw error
      }
    }
    // Set before the first suspension, so that two starts cannot both pass the guard.
    running = (server, task)
    do {
      return try await url(of: server, outcomes: outcomes, outcome: outcome)
    } catch {
      task.cancel()
      running = nil
      throw error
    }
  }

  /// Stops listening and waits until the connections are closed.
  public func stop() async {
    guard let running else { return }
    self.running = nil
    await running.server.stop(timeout: 1)
  }

  /// Waits until the service stops, and throws its error if an error has stopped it.
  public func waitUntilStopped() async throws {
    try await running?.task.value
  }

  /// Waits until the server listens, or until its start fails.
  private func url(
    of server: HTTPServer, outcomes: AsyncStream<(any Error)?>, outcome: AsyncStream<(any Error)?>.Continuation
  ) async throws -> URL {
    let listening = Task {
      do {
        // `run()` reports a start that fails. The limit is for a start on a busy machine.
        try await server.waitUntilListening(timeout: 60)
        outcome.yield(nil)
      } catch {
        outcome.yield(error)
      }
    }
    defer { listening.cancel() }
    if let failure = await outcomes.first(where: { _ in true }), let failure { throw failure }
    guard case .ip4(_, let port)? = await server.listeningAddress, let url = URL(string: "http://127.0.0.1:\(port)")
    else { throw CatalogServiceError.notListening }
    return url
  }
}

/// The reason why a catalog service does not start.
public enum CatalogServiceError: Error, CustomStringConvertible {
  case runningAlready
  case notListening

  public var description: String {
    switch self {
    case .runningAlready: "The service runs already; stop it before starting it again."
    case .notListening: "The service stopped before it had a port; try to start it again."
    }
  }
}

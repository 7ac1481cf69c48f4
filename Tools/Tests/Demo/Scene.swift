import Coherence
import CoherenceHTTP
import DemoClient
import DemoService
import Foundation

/// A store in a directory of its own, which is removed with the scene. Each run opens the store again, like a new
/// process.
final class Scene: Sendable {
  private let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("demo-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  /// Opens the store, for as long as the body takes.
  func withStack<T>(_ body: (DemoStack) async throws -> T) async throws -> T {
    let stack = try await DemoStack(place: .directory(directory))
    let result: Result<T, any Error>
    do { result = .success(try await body(stack)) } catch { result = .failure(error) }
    try await stack.stop()
    return try result.get()
  }

  /// Synchronizes with a service of the catalog, and returns the changed rows.
  func run(
    _ catalog: Catalog, edits: Int = 0, http: (any HTTPClient)? = nil,
    progress: @escaping @Sendable (SyncStep) async -> Void = { _ in }
  ) async throws -> RunResult {
    try await withService(catalog, http) { service in
      try await withStack { stack in
        let before = try await RowVersions(of: stack)
        let sync = CatalogSync(stack, service: service, pageSize: 50, progress: progress)
        let edited = edits > 0 ? try await sync.edit(edits) : []
        let outcome = try await sync.run()
        let rows = before.changes(to: try await RowVersions(of: stack))
        let changed = try await MainActor.run { try GraphAnswers(stack).packages(rows.updated).map(\.name) }
        return RunResult(outcome: outcome, rows: rows, changed: changed, edited: edited)
      }
    }
  }

  private func withService<T>(
    _ catalog: Catalog, _ http: (any HTTPClient)?, _ body: (ServiceClient) async throws -> T
  ) async throws -> T {
    let service = CatalogService(catalog: catalog)
    let client = ServiceClient(base: try await service.start(), http: http)
    let result: Result<T, any Error>
    do { result = .success(try await body(client)) } catch { result = .failure(error) }
    await service.stop()
    return try result.get()
  }
}

struct RunResult: Sendable {
  let outcome: SyncOutcome
  let rows: RowChanges
  /// The names of packages with a changed row, and of the edited packages.
  let changed: [String]
  let edited: [String]
}

import ArgumentParser
import CoherenceActions
import CoherencePersistedActions
import Foundation

/// The persisted actions of an open store.
struct ActionStore {
  private let store: OpenStore
  let actions: PersistedActions

  init(_ arguments: StoreArguments, writes: Bool = false) throws {
    store = try OpenStore.open(arguments, .actions, writes: writes)
    actions = try PersistedActions(store.container)
  }

  /// Returns the action whose identifier begins with a text.
  ///
  /// - Throws: A `UsageError` if no action or several actions match.
  func action(_ text: String) async throws -> PersistedActionInfo {
    let found = try await actions.actions(idPrefix: text, limit: 6)
    guard let action = found.first else {
      throw UsageError("The store has no action whose identifier begins with '\(text)'.")
    }
    // A whole identifier cannot match several actions.
    guard found.count == 1 else {
      let names = found.prefix(5).map(\.id.uuidString).joined(separator: ", ")
      throw UsageError(
        "Several actions have an identifier that begins with '\(text)': \(names)\(found.count > 5 ? " and more" : ""). "
          + "Give more of the identifier.")
    }
    return action
  }

  func actions(_ texts: [String]) async throws -> [PersistedActionInfo] {
    var found: [PersistedActionInfo] = []
    for text in texts { found.append(try await action(text)) }
    return found
  }
}

/// The identifiers of actions.
struct ActionIDs: ParsableArguments {
  @Argument(help: ArgumentHelp("Identifiers of actions, or beginnings of them.", valueName: "id"))
  var ids: [String]
}

extension PersistedActionState: @retroactive ExpressibleByArgument {}

extension PersistedActionInfo {
  /// The first digits of the identifier, for tables.
  var shortID: String { String(id.uuidString.prefix(8)) }

  static let columns = ["ID", "ACTION", "QUEUE", "STATE", "DUE", "FAILURES", "PROGRESS", "SCHEDULE"]

  var cells: [String] {
    [
      shortID, handle.name, queue, isCancelRequested ? "\(state.rawValue) (canceling)" : state.rawValue,
      (finishedDate ?? dueDate).short, "\(failedAttempts)", progressText, scheduleName ?? "–",
    ]
  }

  private var progressText: String {
    progress.map {
      $0.totalUnitCount > 0 ? "\($0.completedUnitCount)/\($0.totalUnitCount)" : "\($0.completedUnitCount)"
    }
      ?? "–"
  }

  var json: JSON {
    [
      "id": .uuid(id), "name": .string(handle.name), "uniqueKey": .text(handle.uniqueKey), "queue": .string(queue),
      "priority": .string("\(priority)"), "state": .string(state.rawValue), "enqueued": .date(enqueuedDate),
      "due": .date(dueDate), "started": .date(startedDate), "finished": .date(finishedDate),
      "failedAttempts": .number(failedAttempts),
      "failures": .array(
        failures.map { ["attempt": .number($0.attempt), "date": .date($0.date), "text": .string($0.text)] }),
      "completedUnits": progress.map { .int($0.completedUnitCount) } ?? .null,
      "totalUnits": progress.map { .int($0.totalUnitCount) } ?? .null,
      "isCancelRequested": .bool(isCancelRequested), "hasResult": .bool(hasResult),
      "hasCheckpoint": .bool(hasCheckpoint), "schedule": .text(scheduleName), "scheduleText": .text(scheduleText),
      "worker": .uuid(worker),
    ]
  }

  var details: [(name: String, value: String)] {
    let optional: [(String, String?)] = [
      ("unique key", handle.uniqueKey), ("started", startedDate?.short), ("finished", finishedDate?.short),
      ("schedule", scheduleName.map { name in scheduleText.map { "\(name): \($0)" } ?? name }),
      ("worker", worker?.uuidString), ("progress", progress == nil ? nil : progressText),
    ]
    return [
      ("id", id.uuidString), ("action", handle.name), ("queue", queue), ("priority", "\(priority)"),
      ("state", isCancelRequested ? "\(state.rawValue), cancellation requested" : state.rawValue),
      ("enqueued", enqueuedDate.short), ("due", dueDate.short),
    ] + optional.compactMap { name, value in value.map { (name, $0) } } + [
      ("result", hasResult ? "yes" : "no"), ("checkpoint", hasCheckpoint ? "yes" : "no"),
      ("failed attempts", "\(failedAttempts)"),
    ] + failures.map { ("failure \($0.attempt)", "\($0.date.short) \($0.text)") }
  }
}

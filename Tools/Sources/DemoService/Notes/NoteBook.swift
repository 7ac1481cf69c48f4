import Foundation

/// The notes of the service. They exist longer than one run of the service.
///
/// The book shows the duties of a server towards an outbox. The book keeps each reply under the idempotency key of its
/// edit, in the same step as the change. A repeated edit gets the kept reply and changes nothing. A change of a field
/// is refused when the field no longer has the value on which the change is based.
public actor NoteBook {
  private var notes: [UUID: NoteRecord]
  /// The last revisions of deleted notes. A note that is inserted again goes on counting, so that a list from before
  /// its deletion is older than the note.
  private var lastRevisions: [UUID: Int] = [:]
  private var answers: [UUID: NoteAnswer] = [:]
  private var outage: NoteOutage?
  /// The counts since the book was made.
  public private(set) var statistics = NoteStatistics()
  private let honorsKeys: Bool

  /// Makes a book of notes.
  ///
  /// - Parameter honorsKeys: Whether the book recognizes repeated edits by their idempotency keys. `false` simulates a
  ///   faulty service, which applies a repeated edit again.
  public init(_ notes: [NoteRecord] = [], honorsKeys: Bool = true) {
    self.notes = Dictionary(notes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    self.honorsKeys = honorsKeys
  }

  /// All notes, sorted by identifier.
  public var list: NoteList { NoteList(notes: notes.values.sorted { $0.id.uuidString < $1.id.uuidString }) }

  // MARK: Edits of clients

  /// Applies or refuses an edit, unless an outage loses the edit.
  ///
  /// - Parameter key: The idempotency key of the edit.
  /// - Returns: The reply; `nil` if an outage loses the edit or its reply.
  func receive(_ request: NoteRequest, key: UUID) async -> NoteAnswer? {
    statistics.received += 1
    switch outage?.nextFate() ?? .answered {
    case .answered: return apply(request, key)
    case .answerLost: _ = apply(request, key)
    case .requestLost: statistics.lost += 1
    }
    await outage?.hold()
    return nil
  }

  /// Applies an edit, or returns the kept reply of a repeated edit. The function must not suspend, because a repetition
  /// during a suspension would find no kept reply.
  private func apply(_ request: NoteRequest, _ key: UUID) -> NoteAnswer {
    if honorsKeys, let known = answers[key] {
      statistics.refusedDuplicates += 1
      return known
    }
    let answer = decide(request)
    switch answer {
    case .applied, .deleted: statistics.applications[key, default: 0] += 1
    case .conflict: statistics.conflicts += 1
    case .unknown: break
    }
    answers[key] = answer
    return answer
  }

  private func decide(_ request: NoteRequest) -> NoteAnswer {
    switch request {
    case .insert(var note):
      if let known = notes[note.id], honorsKeys { return .conflict(known) }
      note.revision = (notes[note.id]?.revision ?? lastRevisions[note.id] ?? 0) + 1
      notes[note.id] = note
      return .applied(note)
    case .update(let id, let change):
      guard var note = notes[id] else { return .unknown }
      guard Self.fits(note.text, change.base.text, change.values.text),
        Self.fits(note.stars, change.base.stars, change.values.stars)
      else { return .conflict(note) }
      note.text = change.values.text ?? note.text
      note.stars = change.values.stars ?? note.stars
      note.revision += 1
      notes[id] = note
      return .applied(note)
    case .delete(let id): return delete(id) ? .deleted : .unknown
    }
  }

  /// Deletes a note.
  ///
  /// - Returns: Whether the book had the note.
  private func delete(_ id: UUID) -> Bool {
    guard let note = notes.removeValue(forKey: id) else { return false }
    lastRevisions[id] = note.revision
    return true
  }

  /// Whether a change of a field is allowed: no other client has changed the field, or its value is already the new
  /// value.
  private static func fits<Value: Equatable>(_ present: Value, _ base: Value?, _ new: Value?) -> Bool {
    new == nil || present == base || present == new
  }

  // MARK: Edits of other clients

  /// Changes a note on behalf of another client.
  public func change(_ id: UUID, _ change: @Sendable (inout NoteRecord) -> Void) {
    guard var note = notes[id] else { return }
    change(&note)
    note.revision += 1
    notes[id] = note
  }

  /// Inserts a note on behalf of another client.
  public func insert(_ note: NoteRecord) { notes[note.id] = note }

  /// Deletes a note on behalf of another client.
  public func remove(_ id: UUID) { _ = delete(id) }

  // MARK: Outages

  /// Begins an outage after some more edits. Later edits wait until ``endOutage()`` and get no reply.
  ///
  /// - Parameters:
  ///   - answered: The number of edits before the outage, which still get a reply.
  ///   - applied: The number of edits that the book still applies at the beginning of the outage. Later edits are lost.
  public func beginOutage(afterAnswers answered: Int, lostAnswers applied: Int) {
    outage = NoteOutage(answered: answered, applied: applied)
  }

  /// Waits until the outage holds back a number of edits.
  public func waitUntilHeld(_ count: Int) async { await outage?.waitUntilHeld(count) }

  /// Ends the outage. The held edits end without a reply.
  public func endOutage() {
    outage?.end()
    outage = nil
  }
}

import Foundation

/// The server of the clients, in memory. The server honors idempotency keys, and records every incorrect request.
struct KillServer {
  private(set) var records: [String: KillRecord] = [:]
  /// The errors of the clients, as messages.
  private(set) var complaints: [String] = []
  /// The number of requests with a known key.
  private(set) var repetitions = 0
  /// The number of applied requests.
  private(set) var applied = 0
  private var answers: [UUID: (answer: KillAnswer, content: [String])] = [:]
  private var tags: Set<String> = []

  /// Applies a request, unless the server has applied it before.
  mutating func receive(_ request: KillRequest) -> KillAnswer {
    let content = [request.kind, request.entity, request.tag ?? "", "\(request.rank ?? 0)"]
    if let known = answers[request.key] {
      repetitions += 1
      if known.content != content { complaints.append("\(known.content) was repeated as \(content)") }
      return known.answer
    }
    applied += 1
    let answer = apply(request)
    if let refusal = answer.refusal { complaints.append("\(refusal): \(request)") }
    answers[request.key] = (answer, content)
    return answer
  }

  private mutating func apply(_ request: KillRequest) -> KillAnswer {
    if let folder = request.folder, !folder.isEmpty, records[folder] == nil {
      return KillAnswer(refusal: "The folder is unknown")
    }
    if request.kind == "insert" { return insert(request) }
    guard var record = records[request.id] else { return KillAnswer(refusal: "The record is unknown") }
    // An outbox may replace a pending update by a delete, so the base of a delete is not compared.
    guard request.kind == "delete" || request.baseRank == record.rank else {
      return KillAnswer(refusal: "The edit follows on \(request.baseRank ?? -1), and the server has \(record.rank)")
    }
    if request.kind == "delete" {
      guard !records.values.contains(where: { $0.folder == request.id }) else {
        return KillAnswer(refusal: "The folder has notes")
      }
      records[request.id] = nil
      return KillAnswer()
    }
    guard let rank = request.rank, rank > record.rank else { return KillAnswer(refusal: "The edit is old") }
    record.rank = rank
    if let folder = request.folder { record.folder = folder }
    records[request.id] = record
    return KillAnswer()
  }

  private mutating func insert(_ request: KillRequest) -> KillAnswer {
    guard let tag = request.tag, let rank = request.rank else { return KillAnswer(refusal: "The insert lacks values") }
    guard tags.insert(tag).inserted else { return KillAnswer(refusal: "The record was inserted before") }
    let id = "s\(tags.count)"
    records[id] = KillRecord(entity: request.entity, tag: tag, rank: rank, folder: request.folder ?? "")
    return KillAnswer(id: id)
  }
}

/// The possible values of the records after the saves of clients. A client may have been killed in its last save.
struct KillExpectation {
  /// The ranks after the last acknowledged save; zero for a deleted record.
  private var certain: [String: Int] = [:]
  /// The saves without an acknowledgement. Their clients were killed before, during or after the commit.
  private var open: [(number: Int, changes: [String: Int])] = []
  private(set) var acknowledged = 0

  mutating func willSave(_ number: Int, _ changes: [String: Int]) {
    // A repeated edit after a conflict has the number of the first attempt, and replaces it.
    open.removeAll { $0.number == number }
    open.append((number, changes))
  }

  mutating func didSave(_ number: Int) {
    for save in open where save.number == number {
      certain.merge(save.changes) { _, new in new }
      // The acknowledged save has overwritten the values of all earlier saves.
      for index in open.indices where open[index].number < number {
        for tag in save.changes.keys { open[index].changes[tag] = nil }
      }
    }
    open.removeAll { $0.number == number }
    acknowledged += 1
  }

  /// Compares records with the expectation. Later comparisons expect these records.
  mutating func complaints(about records: some Collection<KillRecord>) -> [String] {
    let found = Dictionary(records.map { ($0.tag, $0.rank) }) { first, _ in first }
    var complaints = records.count == found.count ? [] : ["A record is there twice"]
    var possible = certain.mapValues { Set([$0]) }
    for save in open { for (tag, rank) in save.changes { possible[tag, default: [0]].insert(rank) } }
    for (tag, ranks) in possible where !ranks.contains(found[tag] ?? 0) {
      complaints.append("\(tag) is \(found[tag] ?? 0), not one of \(ranks.sorted())")
    }
    for tag in found.keys where possible[tag] == nil { complaints.append("\(tag) comes from nowhere") }
    certain = possible.keys.reduce(into: [:]) { $0[$1] = found[$1] ?? 0 }
    open = []
    return complaints
  }
}

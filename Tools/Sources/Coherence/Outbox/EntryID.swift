import ArgumentParser
import CoherenceCore
import CoherenceOutbox

/// The identifier of an entry in lists and as an argument: the number of the entry, such as `57`. A save that cannot be
/// read has its number in the log, such as `log:57`, because the numbers of the log and of the entries both begin at 1.
struct EntryID: ExpressibleByArgument, CustomStringConvertible {
  static let logPrefix = "log:"

  let number: Int64
  let isOfLog: Bool

  init(number: Int64, isOfLog: Bool) {
    self.number = number
    self.isOfLog = isOfLog
  }

  init?(argument: String) {
    isOfLog = argument.hasPrefix(Self.logPrefix)
    guard let number = Int64(isOfLog ? String(argument.dropFirst(Self.logPrefix.count)) : argument) else { return nil }
    self.number = number
  }

  var description: String { isOfLog ? "\(Self.logPrefix)\(number)" : "\(number)" }
  var defaultValueDescription: String { description }

  /// The name of the entity of the record.
  var entityName: String { isOfLog ? "CoherenceOutboxLog" : "CoherenceOutboxEntry" }

  /// The number, or the text of an identifier in the log.
  var json: JSON { isOfLog ? .string(description) : .int(number) }
}

extension OutboxEntry {
  var entryID: EntryID { EntryID(number: id.key, isOfLog: id.entity.name == "CoherenceOutboxLog") }

  /// The identifier in lists: a dash for an entry of the log of a store that the user may not write.
  var idText: String { id.isTemporaryID ? "–" : "\(entryID)" }
  var idJSON: JSON { id.isTemporaryID ? .null : entryID.json }
}

/// The identifiers of entries.
struct EntryIDs: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "Identifiers of entries, as a list shows them: 57, or log:57 for a save that cannot be read.", valueName: "id"))
  var ids: [EntryID] = []
}

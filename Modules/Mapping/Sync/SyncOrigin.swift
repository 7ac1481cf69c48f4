/// The origin of saved models, which decides about the synchronisation marks of their records.
public enum SyncOrigin: Sendable, Hashable {
  /// The models were made or edited locally, so their changes have to be uploaded. An overwriting save marks records as
  /// deleted instead of deleting them, so that the deletion can be uploaded. Saving the model of a record marked as
  /// deleted removes the mark.
  case here
  /// The models came from the server, so their records are marked as uploaded and not deleted.
  case server(UnsentEdits = .kept)

  /// The policy for records with local edits that still await their upload, when the server sends other values.
  public enum UnsentEdits: Sendable, Hashable, CaseIterable {
    /// The records keep their edits. The save neither changes nor deletes them, even if several records have one uid.
    /// Such a record leaves a deleted record whose delete rule would delete it too; an owner that it requires stays.
    case kept
    /// The records get the values of the server; an overwriting save deletes records that the server did not send.
    case replaced
  }
}

extension Workbench {
  /// Every measure that this machine supports, in the order of the report.
  func measures() -> [Measure] {
    var all = [
      fetchMeasure(), snapshotMeasure(), insertMeasure(), faultMeasure(), lookupMeasure(), updateMeasure(),
      smallSaveMeasure(),
      freshnessMeasure(), memoryMeasure(), mergeMeasure(), idleMergeMeasure(), mergeMemoryMeasure(),
      actionMeasure(), actionMemoryMeasure(), mappingFetchMeasure(), mappingDecodeMeasure(), mappingSaveMeasure(),
      idleMappingSaveMeasure(), mappingRecordSaveMeasure(), walkMeasure(), toOneMeasure(),
      accessorMeasure(), toManyMeasure(), smallUnitsMeasure(), sqliteSmallUnitsMeasure(),
    ]
    if let postgreSQL {
      all += [
        postgreSQLFetchMeasure(postgreSQL), postgreSQLInsertMeasure(postgreSQL), mergeMeasure(postgreSQL),
        idleMergeMeasure(postgreSQL), mappingFetchMeasure(postgreSQL), mappingSaveMeasure(postgreSQL),
        walkMeasure(postgreSQL), smallUnitsMeasure(postgreSQL),
      ]
    }
    all += OutboxBench(self).measures()
    all += IdentityMapBench().measures()
    return all
  }
}
